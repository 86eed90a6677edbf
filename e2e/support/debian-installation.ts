import type { DebianContainer } from '../../scripts/debian/container.ts'

/** Returns the process ids and start times of the programs of the example squid, one line each. */
export const squidPrograms = (debian: DebianContainer): Promise<string> =>
  debian.run(`ps -eo pid,lstart,args --no-headers | grep '[l]ib/main.js' | sort`)

/** Returns the version of the server that responds. */
export const runningVersion = async (debian: DebianContainer): Promise<string | undefined> =>
  (JSON.parse(await debian.run('curl -s http://127.0.0.1:4000/healthz')) as { version?: string }).version
