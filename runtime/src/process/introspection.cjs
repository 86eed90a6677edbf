'use strict'
// Loaded into every Node program of a container (NODE_OPTIONS). Containers run with NODE_ENV=production, so that errors show no
// stack traces to strangers. Apollo Server 3, which is inside the SDK's api, then refuses introspection too, without which neither
// GraphiQL nor code generators work. So introspection stays allowed here where the squid does not say otherwise.
const { Module } = require('node:module')

// oxlint-disable-next-line typescript/unbound-method -- called with its module below
const { require: load } = Module.prototype

Module.prototype.require = function (id) {
  const loaded = Reflect.apply(load, this, [id])
  return /(^|\/)apollo-server-core$/.test(id) ? withIntrospection(loaded) : loaded
}

function withIntrospection(core) {
  const { ApolloServerBase } = core
  if (typeof ApolloServerBase !== 'function') return core
  class Introspected extends ApolloServerBase {
    constructor(config) {
      super({ introspection: true, ...config })
    }
  }
  return new Proxy(core, {
    get: (target, name) => (name === 'ApolloServerBase' ? Introspected : Reflect.get(target, name)),
  })
}
