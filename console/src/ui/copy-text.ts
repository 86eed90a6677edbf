/** The event that `copyText` sends to the document when the browser refuses to copy. The layout shows a toast. */
export const copyRefused = 'copyrefused'

/**
 * Copies text. Call this from a click or key handler, since browsers allow copying only there. The promise is fulfilled with true if the
 * text was copied, otherwise with false.
 */
export async function copyText(text: string): Promise<boolean> {
  const isCopied = (await writeToClipboard(text)) || copyBySelection(text)
  if (!isCopied) document.dispatchEvent(new Event(copyRefused))
  return isCopied
}

/** Copies with `navigator.clipboard`, which browsers do not provide on pages that were loaded over plain HTTP. */
async function writeToClipboard(text: string): Promise<boolean> {
  const { clipboard } = navigator as { clipboard?: Clipboard }
  if (!clipboard) return false
  return clipboard.writeText(text).then(
    () => true,
    () => false,
  )
}

/**
 * Copies on pages that were loaded over plain HTTP. Selects the text of an element instead of focusing a field, because an open dialog
 * would move the focus back. Restores the user's selection.
 */
function copyBySelection(text: string): boolean {
  const selection = getSelection()
  const element = document.createElement('span')
  if (!selection) return false
  const previous = selection.rangeCount > 0 ? selection.getRangeAt(0) : null
  element.textContent = text
  element.style.cssText = 'position:fixed;top:0;clip-path:inset(50%);white-space:pre;user-select:text'
  const setText = (event: ClipboardEvent) => {
    event.clipboardData?.setData('text/plain', text)
    event.preventDefault()
    event.stopPropagation()
  }
  document.body.append(element)
  selection.selectAllChildren(element)
  addEventListener('copy', setText, true)
  try {
    return document.execCommand('copy')
  } finally {
    removeEventListener('copy', setText, true)
    element.remove()
    selection.removeAllRanges()
    if (previous) selection.addRange(previous)
  }
}
