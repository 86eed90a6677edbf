import { pathToFileURL } from 'node:url'
import type { Plugin, Rolldown } from 'vite'

const contractFile = /[\\/]contract[\\/]src[\\/][\w-]+\.ts$/
const endpointsFile = /[\\/]console[\\/]src[\\/]api[\\/](operator-)?endpoints\.ts$/

/**
 * Keeps zod and the schemas (28 KB, brotli) out of pages without validation:
 * - `api/endpoints.ts` and `api/operator-endpoints.ts` run during the build, and the browser receives only the names and paths of the endpoints;
 * - the contract's files contain only declarations, so the bundler may drop each unused constant.
 */
export function leanContract(): Plugin {
  return {
    name: 'shoal:lean-contract',
    apply: 'build',
    async load(id) {
      if (!endpointsFile.test(id)) return null
      const { endpoints } = (await import(pathToFileURL(id).href)) as { endpoints: unknown }
      return `export const endpoints = ${JSON.stringify(endpoints)}`
    },
    transform(code, id) {
      if (!contractFile.test(id)) return null
      return { code: withPureConstants(code, this.parse(code)), map: null, moduleSideEffects: false }
    },
  }
}

/** `const a = make()` becomes `const a = /* @__PURE__ *\/ (() => make())()`, which a bundler may drop. */
function withPureConstants(code: string, program: ReturnType<Rolldown.PluginContext['parse']>): string {
  const declarations = program.body.map((node) => (node.type === 'ExportNamedDeclaration' ? node.declaration : node))
  const values = declarations
    .flatMap((node) => (node?.type === 'VariableDeclaration' ? node.declarations : []))
    .flatMap(({ init }) => (init && !/Function|Literal/.test(init.type) ? [init] : []))
  let result = code
  for (const { start, end } of values.toReversed())
    result = `${result.slice(0, start)}/* @__PURE__ */ (() => (${result.slice(start, end)}))()${result.slice(end)}`
  return result
}
