package main

import (
	"reflect"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
)

// loopback makes each server block listen on 127.0.0.1 alone, unless its plugin `bind` names an address: Corefiles of clusters listen on
// all addresses, and a test must not.
//
// It goes after the last plugin, when `bind` has been read and no server is made yet. The list of server blocks has no exported name.
func loopback() {
	last := dnsserver.Directives[len(dnsserver.Directives)-1]
	caddy.RegisterParsingCallback("dns", last, func(context caddy.Context) error {
		configs := reflect.ValueOf(context).Elem().FieldByName("configs")
		for i := range configs.Len() {
			config := (*dnsserver.Config)(configs.Index(i).UnsafePointer())
			if len(config.ListenHosts) == 1 && config.ListenHosts[0] == "" {
				config.ListenHosts = []string{"127.0.0.1"}
			}
		}
		return nil
	})
}
