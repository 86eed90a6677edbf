import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cycloneDx } from './dependencies/cyclonedx.ts'
import { productionPackages, type Lockfile } from './dependencies/production-packages.ts'
import { root } from './root.ts'

// `npm run sbom` writes sbom.cdx.json, `npm run sbom -- FILE` another file.
const file = process.argv[2] ?? join(root, 'sbom.cdx.json')
const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'))
const packages = productionPackages(readJson('package-lock.json') as Lockfile)
writeFileSync(file, cycloneDx(packages, (readJson('package.json') as { version: string }).version))
console.log(`Wrote ${file}: ${packages.length} packages, in the format CycloneDX 1.6.`)
