import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { ContainerSpec } from '../../driver.ts'
import { describeAllKinds } from '../host-harness.ts'
import { prepareHost } from '../host.ts'
import { type ProcessDriverOptions } from '../process-driver.ts'
import { type ProcessHarness, loopDevicesOf, makeImage, openProcessHarness } from '../process-harness.ts'
import { diskProgram } from './disk-harness.ts'
import { findDisks } from './find-disks.ts'
import { removeStaleQuotas } from './subvolume-disks.ts'
import { until } from '../../until.ts'

const MIB = 1024 * 1024
const DISK_BYTES = 64 * MIB
const isRoot = process.getuid?.() === 0

let harness: ProcessHarness
afterEach(async () => {
  await harness?.dispose()
  await closeBtrfs()
})

const open = async (kind: Parameters<typeof openProcessHarness>[0], options: Partial<ProcessDriverOptions> = {}) => {
  harness = await openProcessHarness(kind, { containerDiskBytes: DISK_BYTES, ...options })
  makeImage(harness.options.imagesDir, 'squid', diskProgram)
}

const start = async (attack: string, id = 'one', change: Partial<ContainerSpec> = {}) => {
  const processor: ContainerSpec = {
    name: 'processor',
    command: ['node', 'main.cjs'],
    env: { ATTACK: attack },
    resources: { cpuCores: 1, memoryBytes: 256 * MIB },
    restart: 'on-failure',
    ports: [],
    stopGraceMs: 1000,
    ...change,
  }
  await harness.runtime.apply({ id, tenant: 'org', version: id, image: 'squid', containers: [processor] })
}

/** Resolves with the code of the error that stopped the attack, or `done`. */
const attackResult = (id = 'one') =>
  until(async () => {
    const line = (await harness.runtime.tail(id, 'processor', 20)).findLast((text) => text.startsWith('attack: '))
    expect(line).toBeDefined()
    return line?.slice('attack: '.length)
  })

const containerDir = (id = 'one') => join(harness.options.stateDir, 'containers', id, 'processor')

/** Returns the space that the container's files take on the disk of the host. */
const usedBytes = (id = 'one') =>
  Number(execFileSync('du', ['--summarize', '--block-size=1', containerDir(id)], { encoding: 'utf8' }).split('\t')[0])

/** Mounts a tmpfs on `dir`; skips the test if that is impossible. */
const mountTmpfs = (dir: string, size: string, skip: (note: string) => void) => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', dir])
  } catch {
    skip('a tmpfs cannot be mounted')
  }
}

/** Creates the disks of a state directory, and expects that images limit them. */
const expectImages = async (stateDir: string) => {
  const { disks, limitation } = await findDisks({
    stateDir,
    mode: 'auto',
    containerBytes: DISK_BYTES,
    hasUids: true,
    hasFilter: false,
  })
  expect({ kind: disks.kind, limitation }).toEqual({ kind: 'image', limitation: null })
  return disks
}

const observation = async (id = 'one') => (await harness.runtime.observe()).find(({ workload }) => workload === id)

/**
 * Runs a shell command in the mount namespace of a container's disk. Fails until the disk is mounted: before, the command would use
 * the folder below the mount point.
 */
const execInside = (id: string, command: string) => {
  const runDir = join(containerDir(id), 'runs')
  const [run = ''] = readdirSync(runDir)
  const [, pid = ''] = readFileSync(join(runDir, run, 'pids'), 'utf8').split(' ')
  const dir = join(containerDir(id), 'disk')
  execFileSync('nsenter', [
    `--mount=/proc/${pid}/ns/mnt`,
    '/bin/sh',
    '-c',
    `mountpoint -q ${dir} && cd ${dir} && ${command}`,
  ])
}

/** Attacks on the disk, and the error that ends each. */
const attacks = [
  ['fill its home', 'ENOSPC'],
  ['fill its work folder', 'ENOSPC'],
  ['create 200,000 files', 'ENOSPC'],
  ['create 200,000 long links', 'ENOSPC'],
  ['write one huge file', 'ENOSPC'],
  ['write through holes', 'ENOSPC'],
  ['allocate without writing', 'ENOSPC'],
  ['create 200,000 hard links', 'EMLINK'],
  ['write a huge sparse file', 'EFBIG'],
] as const

describe.runIf(isRoot)('with disk images', () => {
  describeAllKinds([{ sandbox: 'auto' }, { sandbox: 'none' }], (kind) => {
    const sample = kind.sandbox === 'auto' ? attacks : attacks.slice(0, 2)
    test.each(sample)('a squid cannot %s beyond its disk space: %s', async (attack, code) => {
      await open(kind)
      await start(attack)
      expect(await attackResult()).toBe(code)
      expect(usedBytes()).toBeLessThan(DISK_BYTES + 2 * MIB)
    })

    test('a squid without a sandbox cannot fill its temporary folder', async ({ skip }) => {
      skip(kind.sandbox === 'auto', 'in a sandbox it is in memory')
      await open(kind)
      await start('fill its temporary folder')
      expect(await attackResult()).toBe('ENOSPC')
      expect(usedBytes()).toBeLessThan(DISK_BYTES + 2 * MIB)
    })

    test('a full disk affects neither other squids nor the server, and is reported until files are deleted', async () => {
      await open(kind)
      await start('write a little', 'neighbour')
      await start('fill its home')
      expect(await attackResult()).toBe('ENOSPC')
      await until(async () => {
        await harness.runtime.usage()
        expect(await observation()).toMatchObject({ state: 'running', diskFullSince: expect.any(Date) })
      })
      await harness.runtime.usage()
      expect(await observation('neighbour')).toMatchObject({ state: 'running', diskFullSince: null })
      const before = usedBytes()
      execInside('one', 'touch home/delete-now')
      await until(async () => {
        await harness.runtime.usage()
        expect(await observation()).toMatchObject({ diskFullSince: null })
        // The space of deleted files is returned to the host.
        expect(usedBytes()).toBeLessThan(before / 2)
      })
    })
  })

  test('a crash caused by a full disk is reported with its cause; the files and the report survive restarts of the squid and the server', async () => {
    await open({})
    await start('crash when full')
    const reason = 'It ended with exit code 1 because there was no space left for its files: they may use 67 MB'
    await until(async () =>
      expect(await observation()).toMatchObject({ state: 'backoff', reason, diskFullSince: expect.any(Date) }),
    )
    const { diskFullSince } = (await observation()) ?? {}
    await harness.kill()
    await harness.restart()
    expect(await observation()).toMatchObject({ reason, diskFullSince })
    harness.advance(60_000)
    await until(async () => expect(await observation()).toMatchObject({ lastRun: { ordinal: 1 }, reason }))
  })

  test('the full disk of a program that has finished is not reported', async () => {
    await open({})
    await start('fill its home')
    await until(async () => {
      await harness.runtime.usage()
      expect(await observation()).toMatchObject({ state: 'running', diskFullSince: expect.any(Date) })
    })
    execInside('one', 'touch home/finish-now')
    await until(async () => expect(await observation()).toMatchObject({ state: 'finished', diskFullSince: null }))
  })

  test('a log that no server reads grows no larger than the disk space of its program', async () => {
    await open({})
    await start('flood its log')
    await until(async () => expect(statSync(join(containerDir(), 'log')).size).toBe(DISK_BYTES))
    expect(await observation()).toMatchObject({ state: 'running' })
    expect(statSync(join(containerDir(), 'log')).size).toBe(DISK_BYTES)
  })

  test.each(['auto', 'none'] as const)(
    'a squid whose log is read may write more to it than its disk space (disk: %s)',
    async (disk) => {
      await open({}, { disk })
      await start('log three times its disk space')
      const controller = new AbortController()
      let last = ''
      for await (const { lines } of harness.runtime.logs({}, controller.signal)) {
        last = lines.at(-1)?.text ?? last
        if (last.startsWith('attack: ')) controller.abort()
      }
      expect(last).toBe('attack: done')
      expect(await observation()).toMatchObject({ state: 'running', run: { ordinal: 0 } })
    },
  )

  test('a program that is killed because its log is too long is reported with that cause', async () => {
    await open({})
    await start('flood its log', 'one', { command: ['sh', '-c', 'exec yes'] })
    const reason = expect.stringMatching(
      /^It was ended \(SIGXFSZ\) because it wrote more to a file or to its log than /,
    )
    await until(async () => expect(await observation()).toMatchObject({ state: 'backoff', reason }))
  })

  test('a squid cannot allocate space beyond the end of its log, which the size of the file would not show', async ({
    skip,
  }) => {
    await open({})
    const hasFilter = harness.host.sandbox === 'bwrap' && harness.host.bwrapFeatures.filterFile !== null
    if (!hasFilter || !existsSync('/usr/bin/perl')) skip('needs bubblewrap, a filter of system calls, and perl')
    await start('allocate space beyond the end of its log')
    // EOPNOTSUPP
    expect(await attackResult()).toBe('errno 95')
    expect(statSync(join(containerDir(), 'log')).blocks * 512).toBeLessThan(MIB)
  })

  test('a new deployment starts with an empty disk', async () => {
    await open({})
    await start('fill its home')
    expect(await attackResult()).toBe('ENOSPC')
    await start('write a little', 'one', { env: { ATTACK: 'write a little', NEW: '1' } })
    await until(async () => expect(await observation()).toMatchObject({ state: 'running', run: { ordinal: 1 } }))
    await harness.runtime.usage()
    expect(await observation()).toMatchObject({ diskFullSince: null })
    expect(usedBytes()).toBeLessThan(8 * MIB)
  })

  test('disks are never mounted in the namespace of the host, even if the server is killed and restarted', async () => {
    await open({})
    await start('write a little')
    await until(async () => expect(await observation()).toMatchObject({ state: 'running' }))
    await until(async () => expect(loopDevicesOf(harness.options.stateDir)).toHaveLength(1))
    expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(harness.options.stateDir)
    await harness.kill()
    await harness.restart()
    await harness.runtime.remove('one')
    expect(existsSync(containerDir())).toBe(false)
    await until(async () => expect(await harness.leftovers()).toEqual([]))
  })

  test('programs that mount a disk at the same time use the same files', async () => {
    await open({})
    const { disks } = harness.host
    const dir = join(harness.options.stateDir, 'shared')
    mkdirSync(dir)
    const disk = { dir, image: `${dir}.img`, bytes: 16 * MIB }
    const opened = await Promise.all([disks.open(disk), disks.open(disk), disks.open(disk)])
    writeFileSync(opened[0].fromServer(join(dir, 'file')), 'text')
    for (const { fromServer } of opened) expect(readFileSync(fromServer(join(dir, 'file')), 'utf8')).toBe('text')
    for (const { close } of opened) await close()
    await until(async () => expect(loopDevicesOf(harness.options.stateDir)).toEqual([]))
  })

  test('a shared disk can be mounted again while the namespace of its last user is being removed', async () => {
    await open({})
    const { disks } = harness.host
    const shared = join(harness.options.stateDir, 'shared')
    mkdirSync(shared)
    for (let count = 1; count <= 10; count++) {
      const dir = join(harness.options.stateDir, `build-${count}`)
      mkdirSync(dir)
      const disk = await disks.open({ dir, image: `${dir}.img`, bytes: 16 * MIB })
      await disk.attach({ dir: shared, image: `${shared}.img`, bytes: 16 * MIB })
      writeFileSync(disk.fromServer(join(shared, `file-${count}`)), '')
      const files = readdirSync(disk.fromServer(shared)).filter((name) => name.startsWith('file-'))
      await disk.close()
      expect(files).toHaveLength(count)
    }
    await until(async () => expect(loopDevicesOf(harness.options.stateDir)).toEqual([]))
  })

  test('on a tmpfs, disks are limited in the same way, and the space of deleted files is returned', async ({
    skip,
  }) => {
    await open({})
    const stateDir = join(harness.options.stateDir, 'tmpfs')
    mkdirSync(stateDir)
    mountTmpfs(stateDir, '96m', skip)
    const usedMiB = () => {
      const { blocks, bfree, bsize } = statfsSync(stateDir)
      return ((blocks - bfree) * bsize) / MIB
    }
    try {
      const disks = await expectImages(stateDir)
      const dir = join(stateDir, 'squid')
      mkdirSync(dir)
      const disk = await disks.open({ dir, image: `${dir}.img`, bytes: 32 * MIB })
      try {
        const file = disk.fromServer(join(dir, 'file'))
        expect(() => writeFileSync(file, Buffer.alloc(64 * MIB, 1))).toThrow('ENOSPC')
        expect(await disk.isFull()).toBe(true)
        expect(usedMiB()).toBeLessThan(40)
        rmSync(file)
        execFileSync('sync', ['--file-system', disk.fromServer(dir)])
        await until(async () => expect(usedMiB()).toBeLessThan(16))
      } finally {
        await disk.close()
        await disks.close()
      }
    } finally {
      await until(async () => expect(execFileSync('umount', [stateDir]).toString()).toBe(''))
    }
  })

  test('a server that starts while the disk of the host is full still limits disks', async ({ skip }) => {
    await open({})
    const stateDir = join(harness.options.stateDir, 'tmpfs')
    mkdirSync(stateDir)
    mountTmpfs(stateDir, '24k', skip)
    try {
      await expectImages(stateDir)
    } finally {
      execFileSync('umount', [stateDir])
    }
  })

  test('a squid does not start while the disk of the host is full, and starts when space is free', async ({ skip }) => {
    await open({})
    const full = join(harness.options.stateDir, 'containers')
    mountTmpfs(full, '3m', skip)
    try {
      rmSync(join(harness.options.stateDir, 'disks'), { recursive: true, force: true })
      writeFileSync(join(full, 'filler'), Buffer.alloc(2.8 * MIB))
      await start('write a little')
      await until(async () => expect(await observation()).toMatchObject({ retryAt: expect.any(Date) }))
      rmSync(join(full, 'filler'))
      harness.advance(60_000)
      await until(async () => expect(await observation()).toMatchObject({ state: 'running' }))
    } finally {
      await harness.runtime.close('stop')
      await until(async () => expect(execFileSync('umount', [full]).toString()).toBe(''))
    }
  })

  test('the next server removes incomplete images and those of another size', async () => {
    await open({})
    const dir = join(harness.options.stateDir, 'disks')
    mkdirSync(dir, { recursive: true })
    for (const name of ['new-1', '123-a', `${DISK_BYTES}-b`]) writeFileSync(join(dir, name), '')
    await prepareHost(harness.options)
    expect(readdirSync(dir)).toEqual([`${DISK_BYTES}-b`])
    rmSync(join(dir, `${DISK_BYTES}-b`))
  })

  test('a squid that was deployed with limited disk space keeps its disk when the operator lifts the limit', async () => {
    await open({})
    await start('write a little')
    await until(async () => execInside('one', 'touch home/kept'))
    await harness.runtime.close('stop')
    harness.options.containerDiskBytes = 0
    await harness.restart()
    await until(async () => expect(await observation()).toMatchObject({ state: 'running' }))
    await until(async () => execInside('one', 'test -e home/kept'))
  })

  test('files that an earlier release stored without a disk are kept', async () => {
    await open({})
    const home = join(containerDir(), 'home')
    await start('write a little')
    await until(async () => expect(await observation()).toMatchObject({ state: 'running' }))
    await harness.runtime.close('stop')
    for (const name of ['disk', 'disk.img']) rmSync(join(containerDir(), name), { recursive: true })
    mkdirSync(home)
    writeFileSync(join(home, 'kept'), 'text')
    await harness.restart()
    await until(async () => expect(await observation()).toMatchObject({ state: 'running' }))
    await until(async () => execInside('one', 'grep text home/kept'))
    expect(statSync(join(containerDir(), 'disk.img')).blocks).toBeGreaterThan(0)
  })

  test('a new deployment deletes files that an earlier release stored without a disk', async () => {
    await open({})
    const home = join(containerDir(), 'home')
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'old'), 'text')
    await start('write a little')
    await until(async () => execInside('one', 'test ! -e home/old'))
    expect(existsSync(home)).toBe(false)
  })
})

/** The mount point of the btrfs that a quota test has mounted; empty if there is none. */
let btrfs = ''

/** Starts the driver on a new btrfs; skips the test if that is impossible. */
const openOnBtrfs = async (skip: (note: string) => void, { hasQuotas = true } = {}) => {
  const image = `${mkdtempSync(join(tmpdir(), 'shoal-btrfs-'))}/image`
  const dir = `${image}-mount`
  chmodSync(dirname(image), 0o711)
  mkdirSync(dir)
  writeFileSync(image, '')
  truncateSync(image, 1024 * MIB)
  try {
    execFileSync('mkfs.btrfs', ['-q', image], { stdio: 'ignore' })
    execFileSync('mount', ['-o', 'loop', image, dir], { stdio: 'ignore' })
  } catch {
    skip('a btrfs cannot be mounted')
  }
  btrfs = dir
  if (hasQuotas) enableQuotas()
  await open({}, { stateDir: join(dir, 'state') })
  if (hasQuotas && harness.host.bwrapFeatures.filterFile === null) skip('there is no filter of system calls')
}

const enableQuotas = () => execFileSync('btrfs', ['quota', 'enable', btrfs])

const subvolumes = () => execFileSync('btrfs', ['subvolume', 'list', btrfs], { encoding: 'utf8' }).trim()

const closeBtrfs = async () => {
  if (!btrfs) return
  await until(async () => expect(execFileSync('umount', [btrfs], { stdio: 'pipe' }).toString()).toBe(''))
  rmSync(dirname(btrfs), { recursive: true })
  btrfs = ''
}

describe.runIf(isRoot)('with quotas of btrfs', () => {
  test.each([
    ['fill its home', 'EDQUOT'],
    ['fill its work folder', 'EDQUOT'],
    ['create 200,000 long links', 'EDQUOT'],
    ['write one huge file', 'EDQUOT'],
    ['allocate without writing', 'EDQUOT'],
    ['write a huge sparse file', 'EFBIG'],
    ['create a subvolume', expect.stringContaining('Operation not permitted')],
  ])('a squid cannot %s beyond its disk space', async (attack, code) => {
    await openOnBtrfs((note) => expect.fail(note))
    expect(harness.host.summary).toContain('disk space by quotas of btrfs')
    expect(harness.host.limitations.join()).not.toContain('disk space')
    await start(attack)
    expect(await attackResult()).toEqual(code)
    const { blocks, bfree, bsize } = statfsSync(btrfs)
    // btrfs stores the names of files twice.
    expect((blocks - bfree) * bsize).toBeLessThan(3 * DISK_BYTES)
  })

  test('a full disk is reported until files are deleted, even after the server was killed', async ({ skip }) => {
    await openOnBtrfs(skip)
    await start('write a little', 'neighbour')
    await start('fill its home')
    expect(await attackResult()).toBe('EDQUOT')
    const untilReported = async (diskFullSince: unknown) =>
      await until(async () => {
        execFileSync('sync', ['--file-system', btrfs])
        await harness.runtime.usage()
        expect(await observation()).toMatchObject({ state: 'running', diskFullSince })
      })
    await untilReported(expect.any(Date))
    await harness.kill()
    await harness.restart()
    await untilReported(expect.any(Date))
    expect(await observation('neighbour')).toMatchObject({ state: 'running', diskFullSince: null })
    execInside('one', 'rm home/f*')
    await untilReported(null)
  })

  test('a new deployment gets a new subvolume with the current limit, and removal deletes the subvolume and its quota', async ({
    skip,
  }) => {
    await openOnBtrfs(skip)
    await start('fill its home')
    expect(await attackResult()).toBe('EDQUOT')
    await harness.runtime.close('stop')
    harness.options.containerDiskBytes = 3 * DISK_BYTES
    await harness.restart()
    // The earlier files still exist.
    await until(async () => execInside('one', 'test -s home/f0'))
    await start('fill its home', 'one', { env: { ATTACK: 'fill its home', NEW: '1' } })
    await until(async () => expect(await observation()).toMatchObject({ run: { ordinal: 1 } }))
    await until(async () => execInside('one', 'test $(du -sm home | cut -f1) -gt 100'))
    const quotas = () => execFileSync('btrfs', ['qgroup', 'show', btrfs], { encoding: 'utf8' })
    const [, id = ''] = /^ID (\d+) /.exec(subvolumes()) ?? []
    expect(quotas()).toContain(`0/${id} `)
    await harness.runtime.remove('one')
    expect(existsSync(containerDir())).toBe(false)
    expect(subvolumes()).toBe('')
    await until(async () => {
      execFileSync('btrfs', ['filesystem', 'sync', btrfs])
      await removeStaleQuotas(btrfs)
      expect(quotas()).not.toContain(`0/${id} `)
    })
  })

  test('the disk of a build and the downloads of its organization are limited separately', async ({ skip }) => {
    await openOnBtrfs(skip)
    const [dir, shared] = [join(harness.options.stateDir, 'build'), join(harness.options.stateDir, 'shared')]
    for (const folder of [dir, shared]) mkdirSync(folder)
    const disk = await harness.host.disks.open({ dir, image: `${dir}.img`, bytes: 32 * MIB })
    try {
      await disk.attach({ dir: shared, image: `${shared}.img`, bytes: 16 * MIB })
      const write = (folder: string, bytes: number) =>
        writeFileSync(disk.fromServer(join(folder, 'file')), Buffer.alloc(bytes, 1))
      write(dir, 20 * MIB)
      expect(await disk.isFull()).toBe(false)
      expect(() => write(dir, 40 * MIB)).toThrow()
      expect(await disk.isFull()).toBe(true)
      expect(() => write(shared, 20 * MIB)).toThrow()
      rmSync(disk.fromServer(join(dir, 'file')))
      expect(await disk.isFull()).toBe(false)
    } finally {
      await disk.close()
    }
  })

  test('squids keep their images when quotas are enabled, and their subvolumes when they are disabled', async ({
    skip,
  }) => {
    await openOnBtrfs(skip, { hasQuotas: false })
    expect(harness.host.disks.kind).toBe('image')
    await start('write a little')
    await until(async () => execInside('one', 'touch home/kept'))
    await harness.runtime.close('stop')
    enableQuotas()
    await harness.restart()
    await until(async () => execInside('one', 'test -e home/kept'))
    await start('write a little', 'two')
    await until(async () => execInside('two', 'touch home/kept'))
    expect(subvolumes()).toContain('containers/two/processor/disk.img')
    await harness.runtime.close('stop')
    execFileSync('btrfs', ['quota', 'disable', btrfs])
    await harness.restart()
    for (const id of ['one', 'two']) await until(async () => execInside(id, 'test -e home/kept'))
  })
})

describe('without disk images', () => {
  test('only the size of each file is limited, which is logged at startup', async () => {
    await open({}, { disk: 'none' })
    expect(harness.host.limitations.join()).toContain('The disk space of a squid or build as a whole is not limited')
    await start('write one huge file')
    expect(await attackResult()).toBe('EFBIG')
    // Several files exceed the limit, so the tests above would fail without images.
    await start('fill its home', 'three')
    expect(await attackResult('three')).toBe('done')
    expect(usedBytes('three')).toBeGreaterThan(3 * DISK_BYTES)
  })

  test('nothing is limited if the operator disables the limit', async () => {
    await open({}, { containerDiskBytes: 0 })
    expect(harness.host.limitations.join()).toContain('SHOAL_CONTAINER_DISK_MB=0')
    await start('write one huge file')
    expect(await attackResult()).toBe('done')
  })
})
