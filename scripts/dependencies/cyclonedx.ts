import type { ProductionPackage } from './production-packages.ts'

/**
 * Returns a software bill of materials in CycloneDX 1.6 format. The same packages always result in the same text, because it omits the
 * optional time and serial number.
 *
 * @param version the version of Shoal
 */
export function cycloneDx(packages: ProductionPackage[], version: string): string {
  const refs = new Map(packages.map((pkg) => [pkg.path, purlOf(pkg)]))
  const uses = new Map<string, Set<string>>()
  for (const pkg of packages) {
    const known = uses.get(purlOf(pkg)) ?? new Set()
    for (const path of pkg.uses) known.add(refs.get(path) ?? path)
    uses.set(purlOf(pkg), known)
  }
  // Two folders can contain the same version of a package.
  const distinct = [...new Map(packages.map((pkg) => [purlOf(pkg), pkg])).values()]
  const root = `pkg:npm/shoal@${version}`
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': root,
        name: 'shoal',
        version,
        licenses: [{ license: { id: 'GPL-3.0-or-later' } }],
        purl: root,
      },
    },
    components: distinct.map(componentOf).toSorted(byKey('bom-ref')),
    dependencies: [
      { ref: root, dependsOn: distinct.filter(({ integrity }) => integrity === null).map(purlOf) },
      ...[...uses].map(([ref, dependsOn]) => ({ ref, dependsOn: [...dependsOn] })),
    ]
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.toSorted() }))
      .toSorted(byKey('ref')),
  }
  return `${JSON.stringify(bom, null, 2)}\n`
}

const byKey =
  <K extends string>(key: K) =>
  (a: Record<K, string>, b: Record<K, string>) =>
    a[key] < b[key] ? -1 : 1

function componentOf(pkg: ProductionPackage) {
  const [, group, name] = /^(?:(@[^/]+)\/)?(.+)$/.exec(pkg.name) ?? []
  return {
    type: 'library',
    'bom-ref': purlOf(pkg),
    ...(group && { group }),
    name: name ?? pkg.name,
    version: pkg.version,
    scope: pkg.isOptional ? 'optional' : 'required',
    ...(pkg.integrity && { hashes: hashesOf(pkg.integrity) }),
    ...(pkg.license && { licenses: [licenseOf(pkg.license)] }),
    purl: purlOf(pkg),
  }
}

const purlOf = ({ name, version }: Pick<ProductionPackage, 'name' | 'version'>) =>
  `pkg:npm/${name.replace(/^@/, '%40')}@${version}`

const licenseOf = (license: string) =>
  / (OR|AND|WITH) /.test(license) ? { expression: license } : { license: { id: license } }

const algorithms: Record<string, string> = { sha1: 'SHA-1', sha256: 'SHA-256', sha384: 'SHA-384', sha512: 'SHA-512' }

const hashesOf = (integrity: string) =>
  integrity.split(' ').map((hash) => {
    const [name = '', digest = ''] = hash.split(/-(.*)/s)
    return { alg: algorithms[name] ?? name, content: Buffer.from(digest, 'base64').toString('hex') }
  })
