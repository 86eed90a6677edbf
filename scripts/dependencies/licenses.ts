import type { ProductionPackage } from './production-packages.ts'

/** Licenses whose code may be part of a program under GPL-3.0-or-later (gnu.org/licenses/license-list.html). */
const compatible = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'GPL-3.0-or-later',
  'ISC',
  'MIT',
  'MIT-0',
  'MPL-2.0',
  'PSF-2.0',
  'Python-2.0',
  'Unlicense',
])

/** The Open Font License allows the distribution of fonts with any program: they are data next to the program, not a part of it. */
const fontLicense = 'OFL-1.1'
const isFont = (name: string) => /^@fontsource(-variable)?\/|^@expo-google-fonts\//.test(name)

/** Licenses of packages that declare none, but contain a file with its text. `starts` matches the beginning of that text. */
export const licenseFiles: Record<string, { license: string; starts: RegExp }> = {
  '@react-aria/optimize-locales-plugin': { license: 'Apache-2.0', starts: /^\s*Apache License\s+Version 2\.0/ },
  'read-tls-client-hello': { license: 'Apache-2.0', starts: /^\s*Apache License\s+Version 2\.0/ },
  'png-js': { license: 'MIT', starts: /^MIT License|^The MIT License/ },
}

/** Returns whether a package may be part of Shoal, whose license is GPL-3.0-or-later. */
export function isCompatible({ name, license }: Pick<ProductionPackage, 'name' | 'license'>): boolean {
  const declared = license ?? licenseFiles[name]?.license
  return declared !== undefined && isAllowed(declared, isFont(name))
}

/** Evaluates an SPDX expression of `OR` and `AND`, in which `AND` binds tighter. Nested parentheses and `WITH` are not allowed. */
function isAllowed(expression: string, allowsFonts: boolean): boolean {
  const plain = expression.replace(/^\((.*)\)$/, '$1')
  return plain
    .split(' OR ')
    .some((option) => option.split(' AND ').every((id) => compatible.has(id) || (allowsFonts && id === fontLicense)))
}
