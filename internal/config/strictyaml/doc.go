// Package strictyaml reads YAML that people write, and refuses what they did not mean: unknown keys, keys given twice, values of
// the wrong shape and variables that are not set. Every refusal names file and line, and never a value, which may be a secret.
//
// It checks the document's nodes against the Go type before decoding. The parser's own KnownFields does not do: it works on text
// only, so it cannot see a document after variables were put in, and its errors quote values.
//
// Holdfast's settings and the files of `connection apply` are read with it.
package strictyaml
