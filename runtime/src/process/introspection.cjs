'use strict'
// Preloaded by every Node program of a container (NODE_OPTIONS). Containers run with NODE_ENV=production, so that errors do not
// expose stack traces. Apollo Server 3, which the SDK's api uses, then also disables introspection, which GraphiQL and code
// generators need. This file enables introspection by default. The squid's own setting takes precedence.
const { Module } = require('node:module')

// oxlint-disable-next-line typescript/unbound-method -- called with its module as `this` below
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
