'use strict'
// Runs a program that the operator provides: node forwarder.cjs PORT_VARIABLE FILE [ARGUMENT…]. Such a program need not be written for
// Node, so the preload cannot redirect its port. It gets a free port of loopback in PORT_VARIABLE, and this process forwards to it what
// arrives at the container's declared port, which the preload redirects to a unix socket. Exits when the program ends, with its exit code.
const { spawn } = require('node:child_process')
const { connect, createServer } = require('node:net')
const { constants } = require('node:os')

const [portVariable, file, ...args] = process.argv.slice(2)
const CHECK_MS = 100

const probe = createServer().listen(0, () => {
  const { port } = probe.address()
  probe.close(() => run(port))
})

function run(port) {
  const program = spawn(file, args, { stdio: 'inherit', env: { ...process.env, [portVariable]: String(port) } })
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => program.kill(signal))
  program.on('error', (error) => {
    console.error(`${file} cannot be started: ${error.message}`)
    process.exit(126)
  })
  program.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
  listenWhenReady(port)
}

/** Listens once the program does, so that a container that is not ready refuses connections. */
function listenWhenReady(port) {
  const check = connect({ port, host: '127.0.0.1' })
  check.on('connect', () => {
    check.destroy()
    createServer({ allowHalfOpen: true }, (client) => forward(client, port)).listen(Number(process.env.SHOAL_PORTS))
  })
  check.on('error', () => setTimeout(listenWhenReady, CHECK_MS, port))
}

function forward(client, port) {
  const server = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  client.pipe(server)
  server.pipe(client)
  client.on('error', () => server.destroy())
  server.on('error', () => client.destroy())
  client.on('close', () => server.destroy())
  server.on('close', () => client.destroy())
}
