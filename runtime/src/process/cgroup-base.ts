import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../error-code.ts'
import type { CgroupBase } from './cgroup-files.ts'

const V1_CONTROLLERS = ['memory', 'cpu', 'cpuacct', 'pids'] as const
const V2_CONTROLLERS = ['memory', 'cpu', 'pids']

/**
 * Returns where to create the cgroup `label`, the parent of all cgroups of this server; null when this process may not create
 * cgroups.
 */
export function prepareCgroupBase(label: string): CgroupBase | null {
  if (process.platform !== 'linux') return null
  return prepareV1Base(label) ?? prepareV2Base(label)
}

function prepareV1Base(label: string): CgroupBase | null {
  const ownPaths = ownCgroups()
  const mounts = mountPoints('cgroup')
  const dirs: Partial<Record<(typeof V1_CONTROLLERS)[number], string>> = {}
  for (const controller of V1_CONTROLLERS) {
    const mount = mounts.find(({ options }) => options.includes(controller))
    if (!mount) return null
    // The base is below the server's own cgroup if possible, so that limits set by the operator also apply to containers.
    const parent = firstWritable([join(mount.path, ownPaths.get(controller) ?? '/'), mount.path])
    if (!parent) return null
    dirs[controller] = join(parent, label)
  }
  const { memory, cpu, cpuacct, pids } = dirs
  if (!memory || !cpu || !cpuacct || !pids) return null
  for (const dir of [memory, cpu, cpuacct, pids]) checkCanCreate(dir)
  return { version: 1, memory, cpu, cpuacct, pids }
}

/** Throws if `dir` cannot be created. Removes it again, since the check of a host must not leave directories. */
function checkCanCreate(dir: string): void {
  mkdirSync(dir, { recursive: true })
  try {
    rmdirSync(dir)
  } catch {
    // The directory contains cgroups of containers that an earlier server started.
  }
}

function prepareV2Base(label: string): CgroupBase | null {
  const mount = mountPoints('cgroup2')[0]
  if (!mount) return null
  // Root creates the cgroup next to the other slices of the host, as container engines do. Other users create it below the server's
  // own cgroup, if that is delegated to them.
  for (const parent of [mount.path, join(mount.path, ownCgroups().get('') ?? '/')]) {
    if (!firstWritable([parent]) || !delegateControllers(parent)) continue
    const unified = join(parent, label)
    mkdirSync(unified, { recursive: true })
    if (delegateControllers(unified)) return { version: 2, unified }
  }
  return null
}

/**
 * Enables controllers for children of `dir`. The kernel forbids that for a cgroup that contains processes (the "no internal
 * processes" rule), so this function moves them to a leaf cgroup next to those of the containers. Returns false if a controller is
 * not available.
 */
function delegateControllers(dir: string): boolean {
  const file = join(dir, 'cgroup.subtree_control')
  const missing = () => V2_CONTROLLERS.filter((name) => !words(readFileSync(file, 'utf8')).includes(name))
  if (missing().length === 0) return true
  if (V2_CONTROLLERS.some((name) => !words(readFileSync(join(dir, 'cgroup.controllers'), 'utf8')).includes(name)))
    return false
  try {
    writeFileSync(
      file,
      missing()
        .map((name) => `+${name}`)
        .join(' '),
    )
  } catch (error) {
    if (errorCode(error) !== 'EBUSY') return false
    moveProcessesToLeaf(dir)
    writeFileSync(
      file,
      missing()
        .map((name) => `+${name}`)
        .join(' '),
    )
  }
  return missing().length === 0
}

function moveProcessesToLeaf(dir: string): void {
  const leaf = join(dir, 'shoal-server')
  mkdirSync(leaf, { recursive: true })
  for (const pid of words(readFileSync(join(dir, 'cgroup.procs'), 'utf8'))) {
    try {
      writeFileSync(join(leaf, 'cgroup.procs'), pid)
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error
    }
  }
}

/** Returns the path of the server's own cgroup by controller. The name of the unified hierarchy is empty. */
function ownCgroups(): Map<string, string> {
  const paths = new Map<string, string>()
  for (const line of readFileSync('/proc/self/cgroup', 'utf8').split('\n')) {
    const [, controllers, ...path] = line.split(':')
    for (const controller of controllers?.split(',') ?? []) paths.set(controller, path.join(':'))
  }
  return paths
}

function mountPoints(type: 'cgroup' | 'cgroup2'): { path: string; options: string[] }[] {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter((fields) => fields[2] === type)
    .map(([, path = '', , options = '']) => ({ path, options: options.split(',') }))
}

function firstWritable(dirs: string[]): string | null {
  return dirs.find((dir) => existsSync(dir) && isWritable(dir)) ?? null
}

function isWritable(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK)
    return true
  } catch {
    return false
  }
}

const words = (text: string): string[] => text.split(/\s+/).filter(Boolean)
