import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { compressFiles } from '../../console/build/compressed.ts'
import { accessibleSearch } from './build/accessible-search.ts'
import { packExample } from './build/example-archive.ts'
import { writeInlineScriptHashes } from './build/inline-scripts.ts'
import { writePages } from './generate/write-pages.ts'
import { sidebar } from './sidebar.ts'

/** A script that runs before the first paint, so that a dark page never flashes white. The key of localStorage is defined by the console (`local-settings.ts`). */
const themeScript = `try { if (localStorage.getItem('theme') === 'dark') { document.documentElement.classList.add('dark'); document.documentElement.dataset.theme = 'dark' } } catch {}`

// VitePress lists the pages after it has loaded this file, so the generated ones must exist by then.
writePages(join(import.meta.dirname, '../pages'))

export default defineConfig({
  base: '/docs/',
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: '../node_modules/.cache/shoal-site',
  lang: 'en',
  title: 'Shoal',
  titleTemplate: ':title · Shoal documentation',
  description: 'How to deploy, operate and pay for squids on this installation of Shoal.',
  cleanUrls: true,
  ignoreDeadLinks: 'localhostLinks',
  // The switch between dark and light is `theme/ThemeSwitch.ts`, which shares its setting with the console.
  appearance: false,
  // VitePress writes the list of pages to a file instead of an inline script of every page, so that browsers load the list only once.
  metaChunk: true,
  head: [
    ['meta', { name: 'color-scheme', content: 'light dark' }],
    ['link', { rel: 'icon', href: '/favicon.svg', type: 'image/svg+xml' }],
    ['script', {}, themeScript],
  ],
  markdown: {
    image: { lazyLoading: true },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      // `{{ … }}` in code is text, not an expression of Vue.
      md.renderer.rules.code_inline = (tokens, index) =>
        `<code v-pre>${md.utils.escapeHtml(tokens[index]?.content ?? '')}</code>`
    },
  },
  themeConfig: {
    logo: '/favicon.svg',
    siteTitle: 'Shoal docs',
    sidebar,
    outline: { level: [2, 3], label: 'On this page' },
    search: { provider: 'local' },
    nav: [{ text: 'Console', link: '/', target: '_self' }],
    docFooter: { prev: 'Previous', next: 'Next' },
    externalLinkIcon: true,
    notFound: {
      title: 'Page not found',
      quote: 'This page does not exist, or has moved. Search for it, or start at the first page.',
      linkText: 'Documentation',
      linkLabel: 'Documentation',
    },
  },
  vite: {
    publicDir: join(import.meta.dirname, '../../console/public'),
    // The compiler of the build does not support the target in the root's tsconfig.json.
    esbuild: { target: 'es2022', tsconfigRaw: '{}' },
    plugins: [accessibleSearch()],
  },
  async buildEnd({ outDir }) {
    await packExample(outDir)
    writeInlineScriptHashes(outDir)
    compressFiles(outDir)
  },
})
