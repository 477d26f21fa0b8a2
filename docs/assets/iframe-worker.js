// Search on a page that is opened from the disk. Browsers start no worker from a file, so the worker's script runs in a hidden
// frame of the page instead. The offline plugin of Material for MkDocs would load such a script from a network.
class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    const scope = this.frame.contentWindow;
    scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    scope.importScripts = (...urls) => Promise.all(urls.map((each) => this.load(each)));
    this.ready = this.load(url);
  }

  load(url) {
    const script = this.frame.contentDocument.createElement("script");
    script.src = new URL(url, location.href).href;
    script.async = false;
    return new Promise((resolve, reject) => {
      script.onload = resolve;
      script.onerror = reject;
      this.frame.contentDocument.body.append(script);
    });
  }

  postMessage(data) {
    const scope = this.frame.contentWindow;
    this.ready.then(() => scope.dispatchEvent(new scope.MessageEvent("message", { data })));
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
