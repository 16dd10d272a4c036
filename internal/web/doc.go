// Package web is the gateway's pages: the approval of one tool call, the inbox of those that wait, their history, and the login. They
// are made on the server and work without scripts; the one script adds countdowns, live updates and keys. Nothing is inline and
// nothing comes from elsewhere, so that the content security policy allows neither.
//
// Whose a call is decides who sees it: to everybody else a page that exists and one that does not are the same.
package web
