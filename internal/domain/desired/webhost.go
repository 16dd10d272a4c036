package desired

import (
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// forbiddenInHost are the printable characters that no domain name may hold;
// controls and DEL may not be in one either.
const forbiddenInHost = " #/:<>?@[\\]^|%"

// normalHost reads a host: an IPv6 address in brackets, an IPv4 address in any
// of its number forms, or a domain name, also an international one.
func normalHost(host string) (string, error) {
	if strings.HasPrefix(host, "[") {
		return normalIPv6(host)
	}
	domain, err := normalDomain(host)
	if err != nil {
		return "", err
	}
	if endsInNumber(domain) {
		return normalIPv4(domain)
	}
	return domain, nil
}

func normalDomain(host string) (string, error) {
	domain, err := url.PathUnescape(looseEscapes(host))
	if err != nil {
		return "", urlError("must have a valid host")
	}
	domain = strings.ToValidUTF8(domain, "\uFFFD")
	if isPlainASCII(domain) {
		domain = strings.ToLower(domain)
	} else if domain, err = toASCII(domain); err != nil {
		return "", err
	}
	if domain == "" {
		return "", urlError("must have a host")
	}
	if strings.ContainsFunc(domain, func(r rune) bool {
		return r < ' ' || r >= 0x7f || strings.ContainsRune(forbiddenInHost, r)
	}) {
		return "", urlError("must not have such characters in its host")
	}
	return domain, nil
}

// looseEscapes makes a "%" that starts no escape one that stands for itself, as
// the standard's decoder leaves it. The host is refused for it later.
func looseEscapes(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])) {
			b.WriteString("%25")
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// isPlainASCII is true for names that need no IDNA processing beyond lower case.
func isPlainASCII(domain string) bool {
	if strings.ContainsFunc(domain, func(r rune) bool { return r > '~' }) {
		return false
	}
	lower := strings.ToLower(domain)
	return !strings.HasPrefix(lower, "xn--") && !strings.Contains(lower, ".xn--")
}

// toASCII is the standard's "domain to ASCII" (UTS 46, not strict).
func toASCII(domain string) (string, error) {
	profile := idna.New(
		idna.MapForLookup(),
		idna.Transitional(false),
		idna.StrictDomainName(false),
		idna.CheckHyphens(false),
		idna.CheckJoiners(true),
		idna.BidiRule(),
		idna.VerifyDNSLength(false),
	)
	for label := range strings.FieldsFuncSeq(domain, isDot) {
		if brokenACE(profile, label) {
			return "", urlError("must have a valid host name")
		}
	}
	ascii, err := profile.ToASCII(domain)
	if err != nil {
		return "", urlError("must have a valid host name")
	}
	// Labels of hundreds of characters are encoded to what cannot be decoded.
	if again, err := profile.ToASCII(ascii); err != nil || again != ascii {
		return "", urlError("must have a valid host name")
	}
	return ascii, nil
}

func isDot(r rune) bool {
	return strings.ContainsRune(".\u3002\uff0e\uff61", r)
}

// brokenACE is true for a label that begins with "xn--" and is no Punycode
// because nothing or something beyond ASCII follows. The idna package lets both
// pass. A letter put in front keeps it from decoding what it only has to map; errors are left to ToASCII.
func brokenACE(profile *idna.Profile, label string) bool {
	mapped, _ := profile.ToUnicode("a" + label)
	encoded, isACE := strings.CutPrefix(mapped, "axn--")
	return isACE && (encoded == "" || strings.ContainsFunc(encoded, func(r rune) bool { return r > '~' }))
}

// endsInNumber decides whether a name is meant as an IPv4 address.
func endsInNumber(domain string) bool {
	labels := strings.Split(strings.TrimSuffix(domain, "."), ".")
	last := labels[len(labels)-1]
	if last == "" {
		return false
	}
	if !strings.ContainsFunc(last, func(r rune) bool { return r < '0' || r > '9' }) {
		return true
	}
	_, isNumber := ipv4Number(last)
	return isNumber
}

// normalIPv4 reads one to four numbers, decimal, octal (0…) or hexadecimal
// (0x…); the last one fills all bytes that are left.
func normalIPv4(domain string) (string, error) {
	parts := strings.Split(strings.TrimSuffix(domain, "."), ".")
	if len(parts) > 4 {
		return "", urlError("must have a valid IPv4 address")
	}
	var address uint64
	for i, part := range parts {
		number, isNumber := ipv4Number(part)
		limit := uint64(256)
		if i == len(parts)-1 {
			limit = 1 << (8 * (5 - len(parts)))
		}
		if !isNumber || number >= limit {
			return "", urlError("must have a valid IPv4 address")
		}
		if i == len(parts)-1 {
			address += number
		} else {
			address += number << (8 * (3 - i))
		}
	}
	return fmt.Sprintf("%d.%d.%d.%d", address>>24, address>>16&255, address>>8&255, address&255), nil
}

// ipv4Number reads one number of an address. isNumber tells whether it has the
// form of one; a number that is too big for any place is [math.MaxUint64].
func ipv4Number(part string) (number uint64, isNumber bool) {
	base, digits := 10, "0123456789"
	switch {
	case part == "":
		return 0, false
	case strings.HasPrefix(part, "0x"):
		part, base, digits = part[2:], 16, "0123456789abcdef"
	case len(part) > 1 && part[0] == '0':
		part, base, digits = part[1:], 8, "01234567"
	}
	if strings.Trim(part, digits) != "" {
		return 0, false
	}
	if part == "" {
		return 0, true // "0x" alone is zero
	}
	number, err := strconv.ParseUint(part, base, 64)
	if err != nil {
		return math.MaxUint64, true
	}
	return number, true
}

func normalIPv6(host string) (string, error) {
	inner, closed := strings.CutSuffix(host[1:], "]")
	address, err := netip.ParseAddr(inner)
	if !closed || err != nil || !address.Is6() || address.Zone() != "" {
		return "", urlError("must have a valid IPv6 address")
	}
	return "[" + formatIPv6(address.As16()) + "]", nil
}

// formatIPv6 differs from netip for addresses with an IPv4 address inside, which
// the standard writes in hexadecimal too.
func formatIPv6(address [16]byte) string {
	var groups [8]uint16
	for i := range groups {
		groups[i] = uint16(address[2*i])<<8 | uint16(address[2*i+1])
	}
	from, length := longestZeros(groups)
	var b strings.Builder
	for i := 0; i < len(groups); i++ {
		if i == from {
			b.WriteString("::")
			i += length - 1
			continue
		}
		if i > 0 && i != from+length {
			b.WriteByte(':')
		}
		b.WriteString(strconv.FormatUint(uint64(groups[i]), 16))
	}
	return b.String()
}

// longestZeros returns the first longest run of at least two zero groups, or a
// run of none before the first group.
func longestZeros(groups [8]uint16) (from, length int) {
	from, length = -1, 0
	for i := 0; i < len(groups); {
		end := i
		for end < len(groups) && groups[end] == 0 {
			end++
		}
		if end-i > 1 && end-i > length {
			from, length = i, end-i
		}
		i = end + 1
	}
	return from, length
}
