// Package dev is `holdfast dev`: a Temporal dev server, a worker, a gateway and a demo workspace in one command. It owns every
// process that it starts and leaves none behind.
package dev
