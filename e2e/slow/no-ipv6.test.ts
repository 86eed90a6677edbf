import { rmSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startProcess } from '../support/server-process.ts'
import { makeReadyDataDir, stopPostgresOf } from '../support/shoal.ts'

let dataDir: string
beforeEach(() => (dataDir = makeReadyDataDir()))
afterEach(async () => {
  await stopPostgresOf(dataDir)
  rmSync(dataDir, { recursive: true, force: true })
})

/** Starts and stops a server with its own loopback, and returns what it printed about missing IPv6. @param prepare shell commands that change the loopback */
async function messagesAbout(prepare: string): Promise<string[]> {
  const settings = { SHOAL_DATA_DIR: dataDir, SHOAL_ON_EXIT: 'stop', SHOAL_HEALTH_PORT: '4002' }
  const script = `ip link set lo up\n${prepare}\nexec "$@"`
  const prefix = ['unshare', '--net', '/bin/sh', '-ec', script, 'sh']
  const server = await startProcess(settings, undefined, prefix)
  try {
    await server.ready()
    expect(await server.stop()).toBe(0)
  } finally {
    server.signal('SIGKILL')
    await server.ended
  }
  return server
    .output()
    .split('\n')
    .filter((line) => line.includes('no IPv6'))
}

describe.skipIf(process.getuid?.() !== 0)('a server on a host without IPv6', () => {
  test('listens on 127.0.0.1, and says once for all its ports that it does not listen on ::1', async () => {
    const disableIpv6 = 'echo 1 >/proc/sys/net/ipv6/conf/lo/disable_ipv6'
    expect(await messagesAbout(disableIpv6)).toEqual([
      expect.stringContaining('has no address ::1 (no IPv6), so Shoal listens on 127.0.0.1 only.'),
    ])
    expect(await messagesAbout(':')).toEqual([])
  })
})
