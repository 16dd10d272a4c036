// Package cli is the command line `holdfast`: it says what is wanted, reads how it stands, asks for repairs, and checks an
// installation. It talks to workflows only through their typed clients, and opens keysets, store and Temporal only in the
// commands that need them.
//
// Tables are for people, JSON (-o json) is for programs: the document goes to stdout, words go to stderr. A header's value,
// a password or a URL's query is never printed.
//
// The starter composes it; other packages add commands as an [Extra].
package cli
