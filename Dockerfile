# SPDX-License-Identifier: MIT
# Ferry in a container, without a GPU:
#   docker build -t ferry . && docker run -it -v ferry-work:/ferry/work ferry
# The first stage has the packages alone; a development container builds its own clone on it (.devcontainer/devcontainer.json).
ARG BASE=debian:bookworm-slim
FROM ${BASE} AS packages
COPY .ci/build /tmp/ferry/.ci/build
COPY core/tool/packages.def /tmp/ferry/core/tool/
RUN /tmp/ferry/.ci/build/container.sh packages && rm -r /tmp/ferry

FROM packages AS ferry
COPY --chown=learner:learner . /ferry
RUN chown learner:learner /ferry
USER learner
WORKDIR /ferry
RUN .ci/build/container.sh build
CMD ["bash", "-c", "./ferry; exec bash"]
