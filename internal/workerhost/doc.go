// Package workerhost runs a Temporal worker with everything that Holdfast registers, and the two small HTTP servers
// beside it: health with metrics, and the codec endpoint. The worker process and `holdfast dev` are made of it.
package workerhost
