// Package filelock holds an exclusive advisory lock on a file, against goroutines of this process and against other processes
// of the machine alike. The operating system drops the lock when the process dies, so a crash leaves nothing to clean up.
//
// The keysets and the store use it to be created and migrated once when several processes start together.
package filelock
