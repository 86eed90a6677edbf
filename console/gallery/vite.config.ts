import react from '@vitejs/plugin-react'
import tailwindcss from '@tailwindcss/vite'
import { join } from 'node:path'
import { defineConfig } from 'vite'

/** Builds the gallery alone, for its test. */
export default defineConfig({
  root: join(import.meta.dirname, '..'),
  plugins: [react(), tailwindcss()],
  build: {
    outDir: join(import.meta.dirname, '../../node_modules/.cache/gallery'),
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: { input: join(import.meta.dirname, '../gallery.html') },
  },
})
