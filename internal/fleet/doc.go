// Package fleet keeps the workflows that run equal to the connections that are wanted: it starts those that are missing, ends
// those of connections that nobody wants any more, and sees to it that every engine in use is watched.
//
// Comparing is pure. A pass reads what runs before it reads what is wanted, and looks again before it acts on a single
// connection: what was applied or removed meanwhile is left alone.
package fleet
