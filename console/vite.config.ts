import optimizeLocales from '@react-aria/optimize-locales-plugin'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compressed } from './build/compressed.ts'
import { headHints } from './build/head-hints.ts'

// Two files that every page needs, so that the first view costs few requests; each stays below the bar of a chunk.
const framework =
  /node_modules\/(react|react-dom|scheduler|@tanstack\/(react-router|router-core|history|store|react-store|query-core|react-query))\//

export default defineConfig({
  plugins: [react(), tailwindcss(), optimizeLocales.vite({ locales: ['en-US'] }), headHints(), compressed()],
  server: { proxy: { '/api': 'http://127.0.0.1:4000' } },
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: { groups: [{ name: 'framework', test: framework }] },
      },
    },
  },
})
