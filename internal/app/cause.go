package app

import "go.uber.org/dig"

// Cause is why a process could not be put together, without the names of the functions that were to do it. nil stays nil.
func Cause(err error) error {
	if err == nil {
		return nil
	}
	return dig.RootCause(err)
}
