// Package config holds Holdfast's own settings: one typed struct for each concern, read from defaults, a YAML file, environment
// variables (HOLDFAST_*) and flags, the later ones winning, and checked as a whole before anything is started.
//
// A setting is declared once, as a struct field whose tags give its key, default and meaning; its variable, its flag and its row
// in the README's table follow from that. Connecting to Temporal is configured by the standard TEMPORAL_* variables, not here.
//
// The worker and the command line load it; everything else is handed the struct of its concern.
package config
