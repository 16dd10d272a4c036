package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

const envPrefix = "HOLDFAST_"

// Setting describes one setting.
type Setting struct {
	Path    string // as in the file, with dots: inspect.poll_interval
	Env     string // HOLDFAST_INSPECT_POLL_INTERVAL
	Flag    string // inspect-poll-interval
	Default string // as written in a file; empty when there is none or it is computed
	Shown   string // the default in words, for people
	Doc     string

	index []int // of the field in Config
}

// Settings lists every setting in the order of the struct.
func Settings() []Setting {
	return collect(reflect.TypeFor[Config](), "", nil)
}

func collect(shape reflect.Type, prefix string, index []int) []Setting {
	var settings []Setting
	for field := range shape.Fields() {
		path := prefix + field.Tag.Get("yaml")
		at := append(append([]int{}, index...), field.Index...)
		if field.Type.Kind() == reflect.Struct {
			settings = append(settings, collect(field.Type, path+".", at)...)
			continue
		}
		settings = append(settings, newSetting(field, path, at))
	}
	return settings
}

func newSetting(field reflect.StructField, path string, index []int) Setting {
	setting := Setting{
		Path:    path,
		Env:     envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_")),
		Flag:    strings.NewReplacer(".", "-", "_", "-").Replace(path),
		Default: field.Tag.Get("default"),
		Shown:   field.Tag.Get("shown"),
		Doc:     field.Tag.Get("doc"),
		index:   index,
	}
	if setting.Shown == "" {
		setting.Shown = setting.Default
	}
	return setting
}

// name is how errors call a setting: by the two names under which people look for it.
func (s Setting) name() string { return s.Path + " (" + s.Env + ")" }

// assign parses value, a text or a list of texts, into the setting's field. A secret has no form that could be refused here, so
// quoting the value is safe.
func (s Setting) assign(config *Config, value any) error {
	field := reflect.ValueOf(config).Elem().FieldByIndex(s.index)
	if field.Kind() == reflect.Slice {
		field.Set(reflect.ValueOf(list(value)))
		return nil
	}
	text := fmt.Sprint(value)
	if field.Type() == reflect.TypeFor[time.Duration]() {
		duration, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%s: %q is no duration: write a number and a unit, such as 30s", s.name(), text)
		}
		field.SetInt(int64(duration))
		return nil
	}
	switch field.Kind() {
	case reflect.Bool:
		yes, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%s: %q is neither true nor false", s.name(), text)
		}
		field.SetBool(yes)
	case reflect.Int:
		number, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%s: %q is no whole number", s.name(), text)
		}
		field.SetInt(int64(number))
	case reflect.Float64:
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%s: %q is no number", s.name(), text)
		}
		field.SetFloat(number)
	default:
		field.SetString(text)
	}
	return nil
}

// list takes a list as a file has it, or a text separated by commas as variables and flags have it.
func list(value any) []string {
	if parts, isList := value.([]any); isList {
		texts := make([]string, 0, len(parts))
		for _, part := range parts {
			texts = append(texts, fmt.Sprint(part))
		}
		return texts
	}
	var texts []string
	for part := range strings.SplitSeq(fmt.Sprint(value), ",") {
		if part = strings.TrimSpace(part); part != "" {
			texts = append(texts, part)
		}
	}
	return texts
}

// Table is a markdown table of all settings.
func Table() string {
	var table strings.Builder
	table.WriteString("| setting | variable | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, setting := range Settings() {
		shown := setting.Shown
		if shown == setting.Default {
			shown = "`" + shown + "`"
		}
		fmt.Fprintf(&table, "| `%s` | `%s` | %s | %s |\n", setting.Path, setting.Env, shown, setting.Doc)
	}
	return table.String()
}
