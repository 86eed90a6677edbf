import type { Router } from 'vitepress'

/** The address of an installation in the commands of the pages. */
const exampleAddress = 'https://shoal.example.com'

/** On each page that the router opens, replaces the example address in code with the address of this installation, so that users can copy commands as they are. */
export function showOwnAddress(router: Router): void {
  if (typeof window === 'undefined') return
  const replace = () => {
    // The pages for operators keep the example address, because they are about installations that do not exist yet.
    if (location.pathname.includes('/operators/')) return
    for (const code of document.querySelectorAll('.vp-doc code')) {
      const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT)
      while (texts.nextNode()) {
        const text = texts.currentNode as Text
        if (text.data.includes(exampleAddress)) text.data = text.data.replaceAll(exampleAddress, location.origin)
      }
    }
  }
  const afterRender = () => requestAnimationFrame(() => requestAnimationFrame(replace))
  const previousHandler = router.onAfterRouteChange
  router.onAfterRouteChange = async (to) => {
    await previousHandler?.(to)
    afterRender()
  }
  window.addEventListener('load', afterRender)
}
