// Package desired holds the activity that reads what is wanted of a connection. It never returns a secret.
package desired
