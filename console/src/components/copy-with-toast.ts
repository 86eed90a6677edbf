import { toast } from '../lib/toasts.ts'
import { copyText } from '../ui/copy-text.ts'

/** Copies text, and shows a toast with this title on success. Call this from a click handler: elsewhere, browsers refuse to copy. */
export async function copyWithToast(text: string, title: string, message?: string): Promise<void> {
  if (await copyText(text)) toast({ tone: 'good', title, ...(message !== undefined && { message }) })
}
