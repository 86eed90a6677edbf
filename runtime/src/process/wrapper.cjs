'use strict'
// Loaded into every Node program of a container (NODE_OPTIONS). Squids are mostly started through another program (sqd, npm, a
// script), and some of those end with 0 when the program they started was killed. Only they see how it ended, so here they end
// with its code: a program that exits soon after the last program that shared its output was ended by a signal exits with 128 + n.
const childProcess = require('node:child_process')
const { syncBuiltinESMExports } = require('node:module')
const { constants } = require('node:os')
const { isMainThread } = require('node:worker_threads')

/** What exits later than this had other work to do. Small profiles take seconds for an exit. */
const SOON_MS = 10_000

/** The last program that shared our output, when a signal ended it. */
let lastKilled = null

if (isMainThread) {
  watchChildren()
  watchSyncChildren()
  process.on('exit', () => {
    if (lastKilled && performance.now() - lastKilled.atMs < SOON_MS) process.exitCode = lastKilled.code
  })
}

function watchChildren() {
  const { prototype } = childProcess.ChildProcess
  const { spawn } = prototype
  prototype.spawn = function (options) {
    const error = Reflect.apply(spawn, this, [options])
    if (sharesOutput(options?.stdio)) {
      lastKilled = null
      // What we ended ourselves is no sign of trouble.
      this.once('exit', (code, signal) => note(code, this.killed ? null : signal))
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
        const isOurs = (end?.error ?? end)?.code === 'ETIMEDOUT'
        if (isShared && !isOurs) note(end?.status, end?.signal)
      }
    }
  }
  syncBuiltinESMExports()
}

/** A shell says 128 + n of a program that a signal ended. */
function note(exitCode, signal) {
  const code = signal ? 128 + constants.signals[signal] : exitCode
  if (code > 128) lastKilled = { code, atMs: performance.now() }
}

function sharesOutput(stdio) {
  const [, output, errors] = typeof stdio === 'string' ? [stdio, stdio, stdio] : (stdio ?? [])
  const isShared = (stream) => stream === 'inherit' || [1, 2].includes(stream?.fd ?? stream)
  return isShared(output) || isShared(errors)
}
