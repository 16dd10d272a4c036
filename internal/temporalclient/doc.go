// Package temporalclient is the way to Temporal: connection settings (the standard TEMPORAL_* variables and profiles), the
// sealing of payloads and failures, the search attributes that Holdfast owns, the preparation and inspection of a namespace,
// the codec endpoint that lets the Temporal UI and CLI read sealed payloads, and an embedded development server.
//
// The worker, the gateway and the command line all build their client here, so that what one of them seals every other can
// read and no credential or payload leaves a process in clear.
package temporalclient
