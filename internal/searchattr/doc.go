// Package searchattr names the search attributes that Holdfast owns. Workflows write them, lists filter by them, set-up
// creates them. They are plain text on the server: filters only, never anything secret.
package searchattr
