import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterCloud, hasClusterNetwork, startClusterCloud } from '../support/cluster-cloud.ts'
import { hasOwnParts, restoreEtcd, snapshotEtcd } from '../support/cluster-parts.ts'
import { makeCountingSquid } from '../support/counting-squid.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { hasCluster, kubectl } from '../support/kubernetes.ts'
import { connectTo } from '../support/postgres.ts'
import { totalTransfers } from '../support/squid.ts'
import { isFull } from '../support/tier.ts'
import { until } from '../support/until.ts'

// This takes minutes, and must not restart the parts of a cluster that the tests did not start.
describe.skipIf(!isFull || !hasCluster || !hasClusterNetwork || !hasOwnParts)(
  'a cluster whose state was restored from a snapshot',
  () => {
    let opened: ClusterCloud
    let project: string
    const folder = mkdtempSync(join(tmpdir(), 'etcd-snapshot-'))

    beforeAll(async () => {
      opened = await startClusterCloud()
      project = makeCountingSquid()
    }, 600_000)

    afterAll(async () => {
      await opened?.end()
      rmSync(folder, { recursive: true, force: true })
      if (project) rmSync(dirname(project), { recursive: true, force: true })
    }, 180_000)

    const deployCounting = async (slot: string) => {
      const cloud = { ...opened.cloud, project }
      const deployment = await waitForDeployment(cloud, await deploy(cloud, { slot, name: 'counting' }), 300_000)
      expect(deployment, opened.cloud.shoal.output().slice(-3000)).toMatchObject({ status: 'OK', failed: 'NO' })
    }

    /** Returns each version with the generation that must run and the name of its database. */
    const versions = async () => {
      const shoal = await connectTo(opened.cloud.shoal.dataDir, 'shoal')
      const { rows } = await shoal.query<{
        slot: string
        name: string
        id: string
        generation: number
        database: string
      }>(
        'select squids.id, name, slot, generation, database from squids join squid_databases on squid_databases.squid_id = squids.id order by name, slot',
      )
      await shoal.end()
      return rows
    }

    /** Returns `<workload> <container>` of each existing pod of a version. */
    const programs = async () => {
      const notation = (name: string) => `.metadata.annotations.shoal\\.dev/${name}`
      const path = `jsonpath={range .items[*]}{${notation('workload')}} {${notation('container')}}{"\\n"}{end}`
      const output = await kubectl(['get', 'pods', '-A', '-l', opened.selector, '-o', path])
      return output
        .split('\n')
        .filter((line) => line.endsWith(' api') || line.endsWith(' processor'))
        .toSorted()
    }

    /** Returns a row for each run of the counting squid's processor, oldest first. */
    const startsOf = async (database: string) => {
      const client = new Client(opened.postgres.url(database))
      await client.connect()
      const { rows } = await client.query<{ was_alone: boolean }>('select was_alone from starts order by id')
      await client.end()
      return rows
    }

    test(
      'runs programs that were deployed after the snapshot, removes those of deleted versions, and runs no program twice',
      { timeout: 900_000 },
      async () => {
        const { cloud } = opened
        const { chain } = cloud.devnet
        const example = await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }), 500_000)
        expect(example, cloud.shoal.output().slice(-3000)).toMatchObject({ status: 'OK', failed: 'NO' })
        for (const slot of ['old', 'deleted']) await deployCounting(slot)
        snapshotEtcd(join(folder, 'etcd'))
        const takenMs = performance.now()
        for (const slot of ['old', 'new']) await deployCounting(slot)
        await cloud.api.squids.delete({ params: { code: cloud.org, reference: 'counting@deleted' } })
        await until(async () => (await versions()).every(({ slot }) => slot !== 'deleted'), 'the version is deleted')
        await chain.transfer(5)
        const ageSeconds = Math.round((performance.now() - takenMs) / 1000)
        await restoreEtcd(join(folder, 'etcd'))

        const restoredMs = performance.now()
        const rows = await versions()
        expect(rows.map(({ slot }) => slot)).toEqual(['new', 'old', 'v1'])
        const expected = rows.flatMap(({ id, generation }) =>
          ['api', 'processor'].map((name) => `${id}.${generation} ${name}`),
        )
        await until(
          async () => JSON.stringify(await programs()) === JSON.stringify(expected.toSorted()),
          'exactly the programs of all versions exist',
          240_000,
        )
        for (const { name, slot } of rows) {
          const query = () =>
            fetch(cloud.endpointOf(`${name}@${slot}`), {
              method: 'POST',
              body: '{"query":"{__typename}"}',
              headers: { 'content-type': 'application/json' },
            })
          await until(async () => (await query()).status === 200, `${name}@${slot} responds`)
        }
        console.log(
          `Restored a snapshot that was ${ageSeconds} s old. All programs ran after ${Math.round((performance.now() - restoredMs) / 1000)} s`,
        )
        await chain.transfer(5)
        const transfers = await chain.countTransfers()
        await until(
          async () => (await totalTransfers(cloud.endpointOf('erc20-transfers@v1'))) === transfers,
          'every transfer is indexed once',
        )
        for (const { name, database } of rows.filter((row) => row.name === 'counting'))
          expect(
            (await startsOf(database)).filter(({ was_alone }) => !was_alone),
            name,
          ).toEqual([])
      },
    )
  },
)
