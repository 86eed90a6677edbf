import type { Repo, Rule } from './repo.ts'

type Manifest = Record<'dependencies' | 'devDependencies' | 'optionalDependencies', Record<string, string> | undefined>

const machinePaths = /(?<![\w.@-])(\/root\/|\/home\/[a-z]|\/Users\/[A-Za-z]|\/work\/)/
const registryHosts = /\/\/(registry|npm)\.[a-z0-9.-]+|^registry\s*=|"resolved":\s*"https?:/m

function findIn(repo: Repo, pattern: RegExp): string[] {
  return repo.files
    .filter(({ path }) => !path.startsWith('scripts/repo-rules/'))
    .flatMap(({ path, text }) => {
      const found = pattern.exec(text)?.[0]
      return found ? [`${path}: ${found}`] : []
    })
}

function directDependencies(manifest: Manifest): string {
  const { dependencies, devDependencies, optionalDependencies } = manifest
  const all = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
  return all
    .map(([name, range]) => `${name}@${range}`)
    .toSorted()
    .join(' ')
}

/** Workspaces and examples: each package.json against the entry that its lockfile has of it. */
function outOfStep(repo: Repo): string[] {
  return repo.files
    .filter(({ path }) => path.endsWith('package-lock.json'))
    .flatMap(({ path, text }) => {
      const { packages } = JSON.parse(text) as { packages: Record<string, Manifest> }
      const folder = path.slice(0, -'package-lock.json'.length)
      const own = Object.entries(packages).filter(([place]) => !place.includes('node_modules'))
      return own.flatMap(([place, locked]) => {
        const manifestPath = `${folder}${place === '' ? '' : `${place}/`}package.json`
        const manifest = repo.files.find((file) => file.path === manifestPath)
        if (!manifest) return []
        const wanted = JSON.parse(manifest.text) as Manifest
        return directDependencies(wanted) === directDependencies(locked) ? [] : [`${manifestPath} and ${path}`]
      })
    })
}

export const committedRules: Rule[] = [
  {
    says: 'no path of one machine is committed',
    why: 'it is wrong on every other machine',
    fix: 'make it from import.meta.url, a setting or a temporary folder',
    find: (repo) => findIn(repo, machinePaths),
    broken: { 'docs/a.md': 'as in /home/someone/shoal' },
  },
  {
    says: 'no registry is committed',
    why: 'an install must use the registry that its machine is set up for',
    fix: 'npm config set omit-lockfile-registry-resolved true, and make the lockfile anew',
    find: (repo) => findIn(repo, registryHosts),
    broken: {
      'package-lock.json': '{ "packages": { "node_modules/a": { "resolved": "https://example.com/a.tgz" } } }',
    },
  },
  {
    says: 'each package.json and its lockfile ask for the same dependencies',
    why: 'otherwise an install takes versions that nobody has tested',
    fix: 'npm install in the folder of the lockfile, and commit both',
    find: outOfStep,
    broken: {
      'package.json': '{ "dependencies": { "zod": "4.0.0" } }',
      'package-lock.json': '{ "packages": { "": { "dependencies": { "zod": "3.0.0" } } } }',
    },
  },
]
