import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root } from './root.ts'
import { serverArguments } from './server.ts'

// The server restarts when its files change, the console reloads in the browser. Either's end is the end of both. Vite is told
// what this is told, such as another port.
const server = ['--watch', '--watch-preserve-output', ...serverArguments]
const children = [
  spawn(process.execPath, server, { stdio: 'inherit' }),
  spawn('vite', process.argv.slice(2), { stdio: 'inherit', cwd: join(root, 'console') }),
]

for (const child of children) {
  child.once('exit', (code) => {
    process.exitCode ??= code ?? 1
    for (const other of children) other.kill('SIGTERM')
  })
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    process.exitCode ??= 0
    for (const child of children) child.kill('SIGTERM')
  })
}
