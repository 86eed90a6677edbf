import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './root.ts'
import { fullClusterSuites, fullSuites, quickClusterSuites } from './test-suites.ts'

test('npm run test:full runs each file that tests more in it', () => {
  const files = globSync('{e2e,runtime,server,scripts}/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] })
  const usesFull = /support\/tier\.ts|env\['SHOAL_TEST_FULL'\]/
  const suites = [...fullSuites, ...fullClusterSuites]
  const missing = files
    .filter((file) => file !== 'scripts/test-suites.test.ts' && usesFull.test(readFileSync(join(root, file), 'utf8')))
    .filter((file) => !suites.some((suite) => file === suite || file.startsWith(`${suite}/`)))
  expect(missing).toEqual([])
})

test('CI or npm run test:full runs each suite on a cluster', () => {
  const files = globSync('e2e/kubernetes/*.test.ts', { cwd: root })
  expect(files.filter((file) => ![...quickClusterSuites, ...fullClusterSuites].includes(file))).toEqual([])
})
