import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeBareSquid } from '../support/bare-squid.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { addOrg, type Org } from '../support/org.ts'
import { type Shoal, startShoal } from '../support/shoal.ts'
import { until } from '../support/until.ts'

const isRoot = process.getuid?.() === 0
const mib = 2 ** 20
const containerMiB = 64
const buildMiB = 256

/** The source of a function that writes 1,000 MiB to a folder, in ten files. */
const fillSource = `
const fs = require('node:fs')
const fill = (dir) => {
  const chunk = Buffer.alloc(1 << 20, 1)
  for (let file = 0; file < 10; file++) {
    const fd = fs.openSync(dir + '/fill-' + file, 'a')
    for (let i = 0; i < 100; i++) fs.writeSync(fd, chunk)
  }
}
`

/** The source of a processor that fills its disk repeatedly. */
const fillingProcessor = `${fillSource}
setInterval(() => {
  for (const dir of [process.env.HOME, process.cwd()]) try { fill(dir) } catch (error) { console.log('stopped by ' + error.code) }
})
`

const packageWithBuild = (name: string) =>
  JSON.stringify({ name, version: '1.0.0', private: true, scripts: { build: 'node build.js' } })

describe.runIf(isRoot)('a hostile squid that fills the disk', () => {
  let shoal: Shoal
  const orgs: Record<string, Org> = {}
  const folders: string[] = []

  const deploySquid = async (name: string, files: Record<string, string>) => {
    const org = (orgs[name] ??= await addOrg(shoal, name))
    const project = makeBareSquid(name, files)
    folders.push(dirname(project))
    const deployer = { ...org, shoal, project }
    return await waitForDeployment(deployer, await deploy(deployer, { name, slot: 'v1' }))
  }

  /** NaN without the folder. `du` exits with 1 if entries disappear in the meantime, and still prints the sum. */
  const usedMiB = (folder: string) =>
    parseInt(spawnSync('du', ['-s', '-B1', join(shoal.dataDir, folder)], { encoding: 'utf8' }).stdout) / mib

  /** Returns the warnings in the status of an organization's version. */
  const warnings = async (name: string) => {
    const { alerts } = await shoal
      .as(orgs[name]?.token ?? '')
      .squids.get({ params: { code: name, reference: `${name}@v1` } })
    return alerts.map(({ label }) => label)
  }

  /** Returns the loop devices whose files are in the data directory. */
  const loopDevices = () =>
    readdirSync('/sys/block').filter((name) => {
      try {
        return readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').includes(shoal.dataDir)
      } catch {
        return false
      }
    })

  beforeAll(async () => {
    shoal = await startShoal({
      SHOAL_CONTAINER_DISK_MB: String(containerMiB),
      SHOAL_BUILD_DISK_MB: String(buildMiB),
    })
    expect(shoal.isolationSummary()).toContain('disk space by disk images')
    expect((await deploySquid('neighbours', {})).failureReason).toBeNull()
    expect((await deploySquid('attackers', { 'processor.js': fillingProcessor })).failureReason).toBeNull()
  })

  afterAll(async () => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    await shoal?.end()
  })

  const expectHealthyNeighbour = async () => {
    const response = await fetch(`${shoal.gatewayUrl}/neighbours/neighbours@v1/api/`)
    expect(response.status).toBe(200)
    expect(await warnings('neighbours')).toEqual([])
    expect((await fetch(`${shoal.url}/readyz`)).status).toBe(200)
  }

  test('at its disk limit, a squid gets an error and a warning in its status; its neighbour and the server are not affected', async () => {
    await until(
      async () => (await warnings('attackers')).includes('processor has no disk space left'),
      'the version shows the warning',
      90_000,
    )
    // The folder has the disks of both squids' programs, and those that the server keeps ready for the next programs. Only that of the
    // attacking processor is full; the others are nearly empty, and use less than 24 MiB together.
    expect(usedMiB('containers')).toBeLessThan(containerMiB + 3 * 8)
    await expectHealthyNeighbour()
  })

  test('at its disk limit, a build gets an error, which its deployment reports', async () => {
    const build = `${fillSource}fill(process.cwd())`
    const { failureReason, failed } = await deploySquid('builders', {
      'build.js': build,
      'package.json': packageWithBuild('builders'),
    })
    expect(failed).toBe('SOURCE_FILES_BUILD_FAILED')
    expect(failureReason).toContain(
      'ran out of disk space: the files of a build, with its dependencies, may use 268 MB',
    )
    await until(async () => usedMiB('builds') < buildMiB / 2, 'the space of the build is free')
    await expectHealthyNeighbour()
  })

  test('even if the server is killed while disks are mounted, nothing of deleted versions remains', async () => {
    const before = loopDevices()
    expect(before.length).toBeGreaterThan(0)
    await shoal.kill()
    expect(loopDevices()).toEqual(before)
    await shoal.start()
    await expectHealthyNeighbour()
    expect(await warnings('attackers')).toEqual(['processor has no disk space left'])
    for (const name of ['attackers', 'neighbours'])
      await shoal.as(orgs[name]?.token ?? '').squids.delete({ params: { code: name, reference: `${name}@v1` } })
    await until(async () => loopDevices().length === 0, 'the loop devices of deleted versions are detached')
    await until(async () => usedMiB('containers') < 1, 'the files of deleted versions are deleted')
    expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(shoal.dataDir)
  })
})
