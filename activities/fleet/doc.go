// Package fleet holds the activity that compares what is wanted with what runs, and mends the difference.
package fleet
