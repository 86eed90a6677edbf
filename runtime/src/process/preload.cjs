'use strict'
// Preloaded by every Node program of a container (NODE_OPTIONS). The SDK's servers listen on all interfaces and have no option
// to change that. This file redirects `listen`: the container's declared ports become unix sockets, all other ports listen on loopback.
// SHOAL_SOCKETS: the directory of the sockets; SHOAL_PORTS: the declared ports, separated by commas.
const { unlinkSync } = require('node:fs')
const net = require('node:net')

const directory = process.env.SHOAL_SOCKETS
const declared = new Set((process.env.SHOAL_PORTS ?? '').split(',').filter(Boolean).map(Number))
// oxlint-disable-next-line typescript/unbound-method -- called with its server as `this` below
const listen = net.Server.prototype.listen

net.Server.prototype.listen = function (...args) {
  const options = tcpOptions(args)
  if (!options) return Reflect.apply(listen, this, args)
  const callback = args.findLast((arg) => typeof arg === 'function')
  const rest = callback ? [callback] : []
  if (directory && declared.has(options.port)) return listenOnSocket(this, options, rest)
  return Reflect.apply(listen, this, [{ ...options, host: '127.0.0.1', ipv6Only: false }, ...rest])
}

function listenOnSocket(server, { port, backlog, signal }, rest) {
  const path = `${directory}/${port}.sock`
  try {
    // A killed program of this container may have left its socket.
    unlinkSync(path)
  } catch {
    // There was no such socket.
  }
  // Programs print the address or read the port from it.
  server.address = () => (server.listening ? { address: '::', family: 'IPv6', port } : null)
  return Reflect.apply(listen, server, [{ path, backlog, signal }, ...rest])
}

// The forms of `listen` that open a port: (), (port, host?, backlog?), ({ port, … }). Null for a path, a handle or a descriptor.
function tcpOptions([first, ...others]) {
  if (first === undefined || first === null || typeof first === 'function') return { port: 0 }
  if (typeof first === 'object') {
    const isTcp = 'port' in first && first.path === undefined && first.fd === undefined
    return isTcp ? { ...first, port: Number(first.port ?? 0) } : null
  }
  if (typeof first === 'string' && !/^\s*\d+\s*$/.test(first)) return null
  return { port: Number(first), backlog: others.find((other) => typeof other === 'number') }
}
