# An image with pinbench, from the tarball beside this file, which `npm run bundle` makes:
#
#   docker build --tag pinbench .
#   docker run --rm --gpus all pinbench run
#
# Only the base image comes from a network. Debian 12's smallest has all that Node needs: glibc and libstdc++.
FROM debian:12-slim
ADD pinbench-*-linux-x64.tar.xz /opt/
RUN ln -s /opt/pinbench-*-linux-x64/pinbench /usr/local/bin/pinbench && pinbench --version
# What NVIDIA's container runtime puts in: the driver, and NVML. `--gpus` chooses the GPUs; schedulers without it get all.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
# Nobody: nothing that pinbench measures needs root. `--user` names another one who can write to a mounted folder.
USER 65534:65534
ENTRYPOINT ["pinbench"]
CMD ["--help"]
