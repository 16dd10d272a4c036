// Package catalog holds the tools of all sources: where they come from, how they are found, and how they are called.
package catalog
