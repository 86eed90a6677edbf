import { endCommandsOnSignal } from './command.ts'
import { pushServerImage } from './server-image.ts'

/** `npm run image -- host/path`: pushes an image of Shoal to a registry, and prints its name, which is the chart's setting `image`. */
const [repository] = process.argv.slice(2)
if (repository === undefined) {
  console.error('Name the repository: npm run image -- registry.example.com/shoal/server')
  process.exit(2)
}
endCommandsOnSignal(() => undefined)
const { image, uploadedBytes } = await pushServerImage(repository, {
  authFile: process.env['SHOAL_REGISTRY_AUTH_FILE'] ?? null,
  baseImage: process.env['SHOAL_BASE_IMAGE'] ?? null,
})
console.error(`Pushed, ${(uploadedBytes / 1e6).toFixed(1)} MB uploaded:`)
console.log(image)
