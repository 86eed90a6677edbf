import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterCloud, hasClusterNetwork, startClusterCloud } from '../support/cluster-cloud.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { query } from '../support/installation-resources.ts'
import { type DeployStep, planKills, seed, steps } from '../support/kill-plan.ts'
import { hasCluster, kubectl } from '../support/kubernetes.ts'
import { totalTransfers } from '../support/squid.ts'
import { isFull } from '../support/tier.ts'
import { until } from '../support/until.ts'

/** The number of kills: by default, one for each step. */
const killCount = Number(process.env['SHOAL_TEST_KILLS'] ?? steps.length)

describe.skipIf(!isFull || !hasCluster || !hasClusterNetwork)(
  'killing the server while it deploys to a cluster',
  () => {
    let opened: ClusterCloud
    let expected: number

    beforeAll(async () => {
      opened = await startClusterCloud()
      const { cloud } = opened
      const deployment = await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }), 500_000)
      expect(deployment, cloud.shoal.output().slice(-3000)).toMatchObject({ status: 'OK', failed: 'NO' })
      expected = await cloud.devnet.chain.countTransfers()
    }, 900_000)

    afterAll(() => opened?.end(), 180_000)

    const statusOf = async (id: number) => {
      const text = 'select status from deployments where id = $1'
      return (await query<{ status: string }>(opened.cloud.shoal.dataDir, 'shoal', text, [id]))[0]?.status ?? ''
    }

    const untilStep = async (id: number, step: DeployStep) => {
      const order: string[] = [...steps, 'OK']
      await until(async () => order.indexOf(await statusOf(id)) >= order.indexOf(step), `${step} begins`, 240_000)
    }

    /** Returns what exists: the names of the objects of programs, without hashes and ids; the containers of pods, except init; and the number of databases. */
    const resources = async () => {
      const kinds = 'configmaps,jobs,deployments,secrets'
      const selector = `${opened.selector},shoal.dev/workload`
      const names = await kubectl(['get', kinds, '-A', '-l', selector, '-o', 'name'])
      const pods = await kubectl([
        'get',
        'pods',
        '-A',
        '-l',
        selector,
        '-o',
        'jsonpath={.items[*].metadata.labels.shoal\\.dev/container}',
      ])
      const text = "select datname as name from pg_database where datname not in ('postgres', 'template0', 'template1')"
      const client = new Client(opened.postgres.url('postgres'))
      await client.connect()
      const databases = (await client.query(text)).rows
      await client.end()
      return {
        objects: names
          .split('\n')
          .map((name) => name.replace(/-[0-9a-f]{10}$/, '').replace(/w\d+-\d+/, 'w'))
          .toSorted(),
        running: pods
          .split(' ')
          .filter((name) => name !== 'init')
          .toSorted(),
        databases: databases.length,
      }
    }

    test(
      `after each of ${killCount} kills, the deployment ends, and exactly the programs of the version exist`,
      { timeout: killCount * 300_000 },
      async () => {
        const { cloud } = opened
        const before = await resources()
        for (const [index, { step, operation }] of planKills(killCount).entries()) {
          // The file makes the source of each deployment different, so that none reuses an image.
          writeFileSync(join(cloud.project, 'kill.txt'), `${seed} ${index}`)
          const id = await deploy(cloud, { slot: 'v1', hardReset: operation === 'hard reset' })
          await untilStep(id, step)
          await cloud.shoal.kill()
          const killedIn = await statusOf(id)
          await cloud.shoal.start()
          const startedMs = performance.now()
          const deployment = await waitForDeployment(cloud, id, 240_000)
          const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
          console.log(
            `kill ${index + 1}/${killCount} in ${killedIn}: ended ${seconds} s after the restart (SHOAL_TEST_SEED=${seed})`,
          )
          expect(deployment, cloud.shoal.output().slice(-3000)).toMatchObject({ status: 'OK', failed: 'NO' })
          const endpoint = cloud.endpointOf('erc20-transfers@v1')
          await until(async () => (await totalTransfers(endpoint)) === expected, 'every transfer is indexed once')
          const isClean = async () => JSON.stringify(await resources()) === JSON.stringify(before)
          await until(isClean, 'only the programs of the version exist').catch(async () =>
            expect(await resources()).toEqual(before),
          )
        }
      },
    )
  },
)
