import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const mount = '/sys/fs/cgroup'

/** The hierarchies in which a container gets a cgroup: with version 1, all except those of systemd, which systemd-nspawn creates. */
function hierarchies(): string[] {
  if (existsSync(join(mount, 'cgroup.controllers'))) return []
  const entries = readdirSync(mount, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  return names.filter((name) => name !== 'systemd' && name !== 'unified').map((name) => join(mount, name))
}

/** Creates a cgroup in each hierarchy of this machine, and returns their folders. A process in them has them as its root. */
export function createCgroups(name: string): string[] {
  return hierarchies().map((hierarchy) => {
    const folder = join(hierarchy, name)
    mkdirSync(folder, { recursive: true })
    for (const file of ['cpuset.cpus', 'cpuset.mems'])
      if (existsSync(join(folder, file))) writeFileSync(join(folder, file), readFileSync(join(hierarchy, file)))
    return folder
  })
}

/** Returns the folders of a cgroup in all hierarchies, even if it does not exist. */
export function rootCgroups(name: string): string[] {
  const systemd = ['systemd', 'unified'].map((hierarchy) => join(mount, hierarchy))
  return [mount, ...hierarchies(), ...systemd].map((hierarchy) => join(hierarchy, name))
}

/** Removes cgroups with all below them, when their processes have ended. @throws Error if they do not within 30 seconds */
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
