import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { loadConfig } from '../server/src/config/config.ts'
import { lockInstallation } from '../server/src/installation/installation-lock.ts'
import { root } from './root.ts'
import { serverArguments } from './server.ts'

// First, check that no other server is running. Otherwise, Node's watch mode would wait for a changed file instead of exiting,
// and the console would use the other server.
try {
  const installation = await lockInstallation(loadConfig(), { exclusive: true, roles: [] })
  installation.release()
} catch (error) {
  console.error((error as Error).message)
  process.exit(1)
}

// The server restarts when its files change, and the browser reloads the console. When the server or Vite ends, this script stops the other.
// Vite receives this script's arguments, such as another port.
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
