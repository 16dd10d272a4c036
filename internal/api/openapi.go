package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const description = `Connections that keep agent workspaces connected to their MCP servers.

Every POST, PUT and DELETE that may take long takes two headers. With Prefer: respond-async it is answered with 202 and a
Location at which the result can be read. With an Idempotency-Key the same request is carried out once, whoever answers it; a
repetition is marked with Idempotent-Replayed: true.

Errors have a code, a message that says what to do, and sometimes details. Those with Retry-After may be sent again.`

// newDocument makes the OpenAPI document of the routes.
func newDocument(version string, all []*route) ([]byte, error) {
	s := newSchemas()
	failure, err := s.of(of[Error]())
	if err != nil {
		return nil, err
	}
	paths := map[string]map[string]any{}
	for _, r := range all {
		operation, err := operationOf(r, s, failure)
		if err != nil {
			return nil, fmt.Errorf("describe %s %s: %w", r.method, r.path, err)
		}
		if paths[r.path] == nil {
			paths[r.path] = map[string]any{}
		}
		paths[r.path][strings.ToLower(r.method)] = operation
	}
	document := map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "Holdfast", "version": version, "description": description,
			"license": map[string]any{"name": "MIT", "identifier": "MIT"},
		},
		"paths": paths,
		"components": map[string]any{
			"schemas": s.named,
			"securitySchemes": map[string]any{
				"token": map[string]any{"type": "http", "scheme": "bearer", "description": "made by holdfast token create, or by POST /api/v1/tokens"},
			},
		},
	}
	return json.MarshalIndent(document, "", "  ")
}

func operationOf(r *route, s *schemas, failure schema) (map[string]any, error) {
	operation := map[string]any{
		"operationId": r.id, "summary": r.summary, "tags": []string{r.tag}, "security": []any{},
	}
	if r.least != "" {
		operation["security"] = []any{map[string]any{"token": []string{}}}
		operation["description"] = "Needs the role " + string(r.least) + ", or a greater one."
	}
	if parameters := parametersOf(r); len(parameters) > 0 {
		operation["parameters"] = parameters
	}
	if r.body != nil {
		made, err := s.of(r.body.of)
		if err != nil {
			return nil, err
		}
		operation["requestBody"] = map[string]any{"required": !r.body.optional, "content": content("application/json", made)}
	}
	answers, err := answersOf(r, s, failure)
	operation["responses"] = answers
	return operation, err
}

func parametersOf(r *route) []any {
	var parameters []any
	for _, name := range r.pathParams() {
		parameters = append(parameters, map[string]any{"name": name, "in": "path", "required": true, "schema": schema{"type": "string"}})
	}
	for _, p := range r.params {
		made := schema{"type": "string"}
		if p.enum != nil {
			made["enum"] = p.enum
		}
		parameter := map[string]any{"name": p.name, "in": "query", "schema": made}
		if p.about != "" {
			parameter["description"] = p.about
		}
		parameters = append(parameters, parameter)
	}
	header := func(name, about string) {
		parameters = append(parameters, map[string]any{"name": name, "in": "header", "description": about, "schema": schema{"type": "string"}})
	}
	if r.operate != nil {
		header(headerKey, "the same request under the same key is carried out once")
		header("Prefer", "respond-async answers with 202 at once; with wait=N after N seconds at most")
	}
	if r.keyed {
		header(headerKey, "the same call under the same key is made once; printable, at most 200 bytes")
	}
	if r.streams() {
		header("Last-Event-ID", "the id of the event that was seen last")
	}
	return parameters
}

func content(media string, made schema) map[string]any {
	return map[string]any{media: map[string]any{"schema": made}}
}

func answersOf(r *route, s *schemas, failure schema) (map[string]any, error) {
	media, made := r.ok.media, schema{"type": "string"}
	if media == "" {
		media = "application/json"
		var err error
		if made, err = s.of(r.ok.of); err != nil {
			return nil, err
		}
	}
	about := r.ok.about
	if about == "" {
		about = http.StatusText(r.ok.status)
	}
	answers := map[string]any{strconv.Itoa(r.ok.status): map[string]any{"description": about, "content": content(media, made)}}
	if r.operate != nil {
		later, err := s.of(of[requestView]())
		if err != nil {
			return nil, err
		}
		answers["202"] = map[string]any{
			"description": "Under way: the result will be at Location",
			"headers":     map[string]any{"Location": map[string]any{"schema": schema{"type": "string"}}},
			"content":     content("application/json", later),
		}
	}
	for status, codes := range byStatus(r.codes()) {
		answers[strconv.Itoa(status)] = map[string]any{
			"description": strings.Join(codes, ", "), "content": content("application/json", failure),
		}
	}
	return answers, nil
}

func byStatus(codes []Code) map[int][]string {
	grouped := map[int][]string{}
	for _, code := range codes {
		grouped[code.Status()] = append(grouped[code.Status()], string(code))
	}
	for status, names := range grouped {
		slices.Sort(names)
		grouped[status] = slices.Compact(names)
	}
	return grouped
}
