import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const mount = '/sys/fs/cgroup'

/**
 * Returns the hierarchies of the kernel in which `createCgroups` creates the container's cgroup. systemd-nspawn creates it with cgroup v2,
 * and in systemd's own hierarchies of cgroup v1. So these are none with v2, and all others with v1.
 */
function hierarchies(): string[] {
  if (existsSync(join(mount, 'cgroup.controllers'))) return []
  const entries = readdirSync(mount, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  return names.filter((name) => name !== 'systemd' && name !== 'unified').map((name) => join(mount, name))
}

/** Creates a cgroup in each of these hierarchies, and returns their folders. A container whose processes are in these cgroups sees them as its root cgroups. */
export function createCgroups(name: string): string[] {
  return hierarchies().map((hierarchy) => {
    const folder = join(hierarchy, name)
    mkdirSync(folder, { recursive: true })
    for (const file of ['cpuset.cpus', 'cpuset.mems'])
      if (existsSync(join(folder, file))) writeFileSync(join(folder, file), readFileSync(join(hierarchy, file)))
    return folder
  })
}

/** Returns the folders that a cgroup would have in all hierarchies, whether it exists or not. */
export function rootCgroups(name: string): string[] {
  const systemd = ['systemd', 'unified'].map((hierarchy) => join(mount, hierarchy))
  return [mount, ...hierarchies(), ...systemd].map((hierarchy) => join(hierarchy, name))
}

/** Waits for the end of the processes in cgroups, and removes the cgroups and everything below them. @throws Error if processes remain after 30 seconds */
export async function removeCgroups(folders: string[]): Promise<void> {
  const deadline = performance.now() + 30_000
  for (const folder of folders) {
    while (existsSync(folder)) {
      try {
        removeTree(folder)
      } catch (error) {
        if (performance.now() > deadline) throw error
        await delay(50)
      }
    }
  }
}

function removeTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(folder, entry.name))
  rmdirSync(folder)
}
