'use strict'
// Preloaded by every Node program of a container (NODE_OPTIONS). Squids are mostly started by another program (sqd, npm, a
// script), and some of these exit with 0 when their child was killed. Only the parent knows how its child ended, so this file
// changes the exit code of the parent: if signal n ended the last child that shared its output, and the parent exits soon after that,
// it exits with 128 + n.
const childProcess = require('node:child_process')
const { syncBuiltinESMExports } = require('node:module')
const { constants } = require('node:os')
const { isMainThread } = require('node:worker_threads')

/** Maximum time from the end of a child to the exit that it causes. With small profiles, exiting takes seconds. */
const MAX_EXIT_DELAY_MS = 10_000

/** Exit code and time of the last child that shared the output; null unless a signal ended it. */
let lastKilled = null

if (isMainThread) {
  watchChildren()
  watchSyncChildren()
  process.on('exit', () => {
    if (lastKilled && performance.now() - lastKilled.atMs < MAX_EXIT_DELAY_MS) process.exitCode = lastKilled.code
  })
}

function watchChildren() {
  const { prototype } = childProcess.ChildProcess
  const { spawn } = prototype
  prototype.spawn = function (options) {
    const error = Reflect.apply(spawn, this, [options])
    if (sharesOutput(options?.stdio)) {
      lastKilled = null
      // A child that this program killed itself has not failed.
      this.once('exit', (code, signal) => recordEnd(code, this.killed ? null : signal))
    }
    return error
  }
}

function watchSyncChildren() {
  for (const name of ['spawnSync', 'execFileSync', 'execSync']) {
    const run = childProcess[name]
    childProcess[name] = function (...args) {
      const isShared = args.some((arg) => sharesOutput(arg?.stdio))
      if (isShared) lastKilled = null
      let end
      try {
        end = Reflect.apply(run, this, args)
        return end
      } catch (error) {
        end = error
        throw error
      } finally {
        const isTimeout = (end?.error ?? end)?.code === 'ETIMEDOUT'
        if (isShared && !isTimeout) recordEnd(end?.status, end?.signal)
      }
    }
  }
  syncBuiltinESMExports()
}

/** Records how a child ended. A shell reports that signal n ended its own child by the exit code 128 + n. */
function recordEnd(exitCode, signal) {
  const code = signal ? 128 + constants.signals[signal] : exitCode
  if (code > 128) lastKilled = { code, atMs: performance.now() }
}

function sharesOutput(stdio) {
  const [, output, errors] = typeof stdio === 'string' ? [stdio, stdio, stdio] : (stdio ?? [])
  const isShared = (stream) => stream === 'inherit' || [1, 2].includes(stream?.fd ?? stream)
  return isShared(output) || isShared(errors)
}
