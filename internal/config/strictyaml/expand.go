package strictyaml

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// variablePattern finds, in this order, an escaped dollar sign, a variable, and a `${` that is no variable. Any other dollar sign
// is left alone: it is common in passwords.
var variablePattern = regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{`)

// expand puts variables into a scalar and tells whether there was anything to do.
func (c *checker) expand(node *yaml.Node, path string) bool {
	if c.options.Lookup == nil {
		return false
	}
	if found, done := c.expanded[node]; done {
		return found
	}
	value, found, err := Expand(node.Value, c.options.Lookup)
	if err != nil {
		c.fault(node, "%s: %v", name(path), err)
	}
	node.Value, c.expanded[node] = value, found
	return found
}

// Expand puts variables into text: ${NAME} stands for the variable's value and $$ for one dollar sign; what a variable holds is
// not expanded again. found tells whether text had either. The error names the variables that are not set.
func Expand(text string, lookup Lookup) (value string, found bool, err error) {
	var problem error
	value = variablePattern.ReplaceAllStringFunc(text, func(match string) string {
		found = true
		switch match {
		case "$$":
			return "$"
		case "${":
			problem = errors.New("${ does not begin a variable: write ${NAME}, or $${ for the two characters")
			return match
		}
		variable := strings.TrimSuffix(strings.TrimPrefix(match, "${"), "}")
		held, set := lookup(variable)
		if !set {
			problem = fmt.Errorf("variable %s is not set: set it, or write $${%s} for the text itself", variable, variable)
		}
		return held
	})
	if problem != nil {
		return "", found, problem
	}
	return value, found, nil
}
