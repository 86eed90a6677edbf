import type { Plugin } from 'vite'

const createsStyle = "document.createElement('style')"
const withNonce = `Object.assign(${createsStyle}, { nonce: document.querySelector('meta[property=csp-nonce]')?.nonce })`

/**
 * Monaco inserts `<style>` elements and has no setting for a nonce, which our content security policy requires. Adds the nonce
 * where Monaco creates them. Fails the build if a new version creates them elsewhere.
 */
export function styleNonce(): Plugin {
  const expected = ['vs/base/browser/dom.js', 'vs/base/browser/ui/contextview/contextview.js']
  const patchedFiles = new Set<string>()
  return {
    name: 'shoal:style-nonce',
    apply: 'build',
    transform(code, id) {
      const [, file] = /monaco-editor\/esm\/(vs\/(?!language\/).*\.js)$/.exec(id) ?? []
      if (!file || !/createElement\(\s*['"`]style['"`]/.test(code)) return null
      if (!code.includes(createsStyle) || !expected.includes(file))
        this.error(`${file} of monaco-editor creates style elements in a new way; see console/build/style-nonce.ts`)
      patchedFiles.add(file)
      return { code: code.replaceAll(createsStyle, withNonce), map: null }
    },
    buildEnd(error) {
      const missing = expected.filter((file) => !patchedFiles.has(file))
      if (!error && missing.length > 0)
        this.error(`${missing.join(', ')} of monaco-editor create no style elements; see console/build/style-nonce.ts`)
    },
  }
}
