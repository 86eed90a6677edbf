import { toast } from '../lib/toasts.ts'
import { copyText } from '../ui/copy-text.ts'

/** Copies text, and shows a toast with this title if the browser allows it. Call this from a click handler: browsers refuse it elsewhere. */
export async function copyWithToast(text: string, title: string, message?: string): Promise<void> {
  if (await copyText(text)) toast({ tone: 'good', title, ...(message !== undefined && { message }) })
}
