import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { deploySimulatedTo, printHostFaults, reportHostFault, watchHost } from '../support/host-watch.ts'
import { deploySimulated } from '../support/simulated-squid.ts'
import { startShoal } from '../support/shoal.ts'
import { until } from '../support/until.ts'

const fakeTime = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'

afterAll(printHostFaults)

describe.skipIf(!existsSync(fakeTime))('a clock that jumps (needs libfaketime)', () => {
  test.each([
    { by: '+3600', fault: 'clock jumps an hour ahead' },
    { by: '-3600', fault: 'clock jumps an hour back' },
  ])(
    '$fault: squids and the API keep responding',
    async ({ by, fault }) => {
      const folder = mkdtempSync(join(tmpdir(), 'clock-'))
      const file = join(folder, 'offset')
      writeFileSync(file, '+0\n')
      const shoal = await startShoal({
        SHOAL_RUNTIME: 'sim',
        LD_PRELOAD: fakeTime,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      })
      try {
        const deployer = await deploySimulatedTo(shoal)
        const timeline = watchHost(deployer, deployer.endpoint)
        await until(() => timeline.latest('neighbour') === '200', 'the neighbour responds')
        timeline.markFault()
        writeFileSync(file, `${by}\n`)
        const deployed = await deploySimulated(
          { ...deployer, api: shoal.as(deployer.token) },
          { name: 'later', slot: 'v1' },
        )
        const statuses = async () =>
          (await shoal.as(deployer.token).squids.list({ params: { code: deployer.org } })).map(
            ({ name, processors }) => `${name} ${processors?.[0]?.status}`,
          )
        await until(
          async () => (await statuses()).every((status) => /SYNCED|SYNCING/.test(status)),
          'processors have a status',
        ).catch(async (error: unknown) => {
          throw new Error((await statuses()).join(', '), { cause: error })
        })
        await timeline.stop()
        reportHostFault(fault, timeline, `a deployment after it: ${deployed.status}`)
        expect(deployed).toMatchObject({ status: 'OK' })
        expect(timeline.history('neighbour')).toBe('200')
        expect(timeline.history('api')).toBe('200')
      } finally {
        await shoal.end()
        rmSync(folder, { recursive: true, force: true })
      }
    },
    240_000,
  )
})
